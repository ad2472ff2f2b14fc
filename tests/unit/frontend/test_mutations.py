"""A smoke of what fuzzing does at length: mutated models load or are refused with one paragraph, never with a traceback."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from nautilus_cli.errors import InternalError, NautilusError
from nautilus_cli.frontend import load
from nautilus_cli.frontend.examination import examine
from nautilus_cli.ops.verifier import verify_graph
from tests.unit.frontend.models import imported
from tests.unit.frontend.mutations import mutated_bytes, mutated_fields, seeds

SEEDS = seeds()
BLOCKS, BLOCK = 10, 60


@pytest.mark.parametrize("number", range(len(SEEDS)))
def test_the_models_that_are_mutated_load(number: int) -> None:
    verify_graph(imported(SEEDS[number]).graph)


def outcome(path: Path) -> str:
    """Load a file; return what became of it."""
    try:
        graph = load(path).graph
    except InternalError:
        raise
    except NautilusError as error:
        return "refused" if str(error) and "\n" not in str(error) else repr(error)
    verify_graph(graph)
    return "loaded"


@pytest.mark.parametrize("block", range(BLOCKS))
def test_mutated_bytes(tmp_path: Path, block: int) -> None:
    path = tmp_path / "model.onnx"
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        random = Random(seed)
        path.write_bytes(mutated_bytes(random.choice(SEEDS).SerializeToString(), random))
        assert outcome(path) in ("loaded", "refused")


def test_an_examination_agrees(tmp_path: Path) -> None:
    """It finds nothing in what loads, and something in the rest that has nodes."""
    path = tmp_path / "model.onnx"
    found = []
    for seed in range(BLOCKS * BLOCK):
        random = Random(seed)
        path.write_bytes(mutated_fields(random.choice(SEEDS), random).SerializeToString())
        loaded = outcome(path)
        try:
            findings = examine(path).findings
        except InternalError:
            raise
        except NautilusError:
            assert loaded == "refused"
            continue
        assert bool(findings) == (loaded == "refused"), seed
        assert all(finding.reason and "\n" not in finding.reason for finding in findings), seed
        found.append(len(findings))
    assert max(found) > 1


def test_mutated_fields(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    outcomes = []
    for seed in range(BLOCKS * BLOCK):
        random = Random(seed)
        path.write_bytes(mutated_fields(random.choice(SEEDS), random).SerializeToString())
        outcomes.append(outcome(path))
    assert set(outcomes) == {"loaded", "refused"}
