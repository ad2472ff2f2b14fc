# Each target alone works in a fresh clone: it makes .venv first where that is missing or older than what it is made of.
# An environment of your own is used instead with PYTHON=, for example `make test PYTHON=python3`.

.DEFAULT_GOAL := help
.PHONY: help demo test lint unit conformance open-sizes gpu-test clean

ifdef PYTHON
ready :=
else
PYTHON := .venv/bin/python
ready := .venv/.installed
endif

install := .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'

# Of every pip that is called below, by tests too: an index may be slow, or away for a moment.
export PIP_DEFAULT_TIMEOUT ?= 60
export PIP_RETRIES ?= 8

jobs ?= 2
model := ppocr_cls

help:
	@echo "make demo         compile a small trained model and verify it; on a GPU where there is one, else emulated"
	@echo "make test         lint and all tests; those that need a GPU are skipped without one"
	@echo "make lint         style, types, import rules"
	@echo "make unit         the tests without the lint; ARGS= are pytest's"
	@echo "make conformance  the cases of onnx.backend.test, counted by suite and by operator; ARGS= are those of tests.conformance"
	@echo "make open-sizes   models with open dimensions, one library each, at five sizes; ARGS= are those of tests.bench.open_sizes"
	@echo "make gpu-test     the tests that need a GPU"

.venv/.installed: pyproject.toml tests/versions.txt
	python3 -m venv .venv
	$(install) --constraint tests/versions.txt || $(install)
	touch $@

demo: $(ready)
	$(PYTHON) models/fetch.py $(model) -o out
	$(PYTHON) -m nautilus_cli.cli compile out/$(model).onnx -o out/lib$(model).so --shape x=1x3x48x192 --no-verify
	$(PYTHON) -m nautilus_cli.cli verify out/$(model).onnx out/lib$(model).so

test: lint unit

lint: $(ready)
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	$(PYTHON) -c 'import importlinter.cli; importlinter.cli.lint_imports_command()'

unit: $(ready)
	$(PYTHON) -m pytest -q -n $(jobs) --dist worksteal $(ARGS)

conformance: $(ready)
	$(PYTHON) -m tests.conformance $(ARGS)

open-sizes: $(ready)
	$(PYTHON) -m tests.bench.open_sizes $(ARGS)

gpu-test: $(ready)
	$(PYTHON) -m pytest -q -rs tests/gpu $(ARGS)

clean:
	rm -rf .venv build dist out .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
