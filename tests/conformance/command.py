"""The command line."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from nautilus_cli.errors import NautilusError
from nautilus_cli.targets import registry
from nautilus_cli.toolchain.cache import Cache
from tests.conformance import archive, cases, changes, expectations, harness, report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run cases, or export them; return 0 where everything is as expected, 1 where not, 2 where it cannot be run."""
    options = _parser().parse_args(arguments)
    try:
        known = archive.read(options.archive) if options.archive else cases.load(options.suite or cases.SUITES)
        chosen = _choose(options, known)
        if not chosen:
            print("no case matches", file=sys.stderr)
            return 2
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory()) if options.no_cache else None
            store = Cache(Path(folder)) if folder else Cache.default()
            return (_export if options.command == "export" else _run)(options, chosen, store)
    except NautilusError as error:
        print(error, file=sys.stderr)
        return 2


def _export(options: argparse.Namespace, chosen: list[cases.Case], store: Cache) -> int:
    libraries: dict[str, bytes] = {}
    if options.libraries:
        libraries, _ = harness.libraries(chosen, registry.target(options.target), store=store, jobs=options.jobs, progress=_progress)
    archive.write(chosen, options.output, libraries)
    print(f"{len(chosen)} cases in {options.output}, {len(libraries)} with a library for {options.target}")
    return 0


def _run(options: argparse.Namespace, chosen: list[cases.Case], store: Cache) -> int:
    target = registry.target(options.target)
    libraries = archive.read_libraries(options.archive) if options.archive else {}
    if libraries:
        run = harness.replay(chosen, libraries, target, jobs=options.jobs, progress=_progress)
    else:
        run = harness.run(chosen, target, store=store, jobs=options.jobs, progress=_progress)
    reasons = expectations.read()
    verdict = expectations.judge(run.outcomes, reasons, is_strict=target.is_emulated)
    for line in report.lines(chosen, run, verdict):
        print(line)
    if options.json:
        options.json.write_text(json.dumps(report.as_json(chosen, run, verdict, reasons, target.name), indent=1) + "\n")
    if options.update_expected and verdict.successes:
        expectations.write(expectations.without(reasons, verdict.successes))
        print(f"{len(verdict.successes)} cases that pass are taken out of {expectations.FILE.name}")
    return 0 if verdict.is_good else 1


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _choose(options: argparse.Namespace, known: Sequence[cases.Case]) -> list[cases.Case]:
    choice = cases.Choice(
        only=tuple(options.only),
        suites=tuple(options.suite or cases.SUITES),
        kind=options.kind,
        part=(0, options.every),
        operators=changes.operators_of(changes.changed_files(options.changed)) if options.changed else frozenset(),
    )
    return [case for case in known if choice.has(case)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance",
        description="Run the cases of onnx.backend.test through every step of `nautilus compile`, with the tolerances of onnx's runner.",
    )
    parser.add_argument(
        "command", nargs="?", choices=("run", "export"), default="run", help="run cases, or write them to a file for --archive"
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="PATTERN", help="names of cases, for example 'test_attention*'; may be repeated"
    )
    parser.add_argument("--suite", action="append", choices=cases.SUITES, help="may be repeated; all where it is not given")
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--kind", choices=("core", "static", "runtime", "beyond"), help="of node cases: core, a part of it, or fp8 to int2 beyond it"
    )
    group.add_argument("--core", dest="kind", action="store_const", const="core", help="short for --kind core")
    group.add_argument("--beyond", dest="kind", action="store_const", const="beyond", help="short for --kind beyond")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one case in N, chosen by a hash of its name")
    parser.add_argument("--changed", metavar="COMMIT", help="with --every: also the cases of operators whose files differ from COMMIT")
    parser.add_argument("--target", default="emulated", help="emulated, or that of the GPU here, for example sm_90a")
    parser.add_argument("--archive", type=Path, metavar="FILE", help="take the cases from a file that export wrote")
    parser.add_argument("--libraries", action="store_true", help="export: with the library of each case, compiled for --target")
    parser.add_argument("-o", "--output", type=Path, default=Path("conformance-cases.zip"), help="what export writes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes and compilers at once; one a core where it is not given")
    parser.add_argument("--no-cache", action="store_true", help="compile everything anew")
    parser.add_argument("--update-expected", action="store_true", help="take cases that pass out of expected_failures.toml")
    return parser
