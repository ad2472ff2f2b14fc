"""What a run says: a line for each surprise, counts by suite, kind and operator, and all of it as JSON."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from nautilus_cli import __version__
from nautilus_cli.errors import shortened
from tests.conformance.cases import Case, kinds
from tests.conformance.expectations import Verdict
from tests.conformance.harness import STATUSES, Outcome, Run

COLUMNS = 4
LONGEST = 28


@dataclass(slots=True)
class Count:
    """Cases that pass, of how many."""

    passed: int = 0
    all: int = 0

    def add(self, outcome: Outcome) -> None:
        self.all += 1
        self.passed += outcome.status == "passed"


def counts(cases: Sequence[Case], outcomes: Mapping[str, Outcome]) -> tuple[dict[str, Count], dict[str, Count]]:
    """Return counts by suite and kind, and by operator."""
    suites: dict[str, Count] = {}
    operators: dict[str, Count] = {}
    for case in cases:
        outcome = outcomes[case.key]
        for name in (case.suite, *(f"node, {kind}" for kind in kinds(case))):
            suites.setdefault(name, Count()).add(outcome)
        operators.setdefault(case.operator, Count()).add(outcome)
    return dict(sorted(suites.items())), dict(sorted(operators.items()))


def lines(cases: Sequence[Case], run: Run, verdict: Verdict) -> Iterable[str]:
    """Yield what to print."""
    suites, operators = counts(cases, run.outcomes)
    yield "cases that pass, by operator:"
    cells = [f"{shortened(name, LONGEST)} {count.passed}/{count.all}" for name, count in operators.items()]
    width = max((len(cell) for cell in cells), default=0) + 2
    for first in range(0, len(cells), COLUMNS):
        yield "  " + "".join(cell.ljust(width) for cell in cells[first : first + COLUMNS]).rstrip()
    yield "cases that pass, by suite:"
    for name, count in suites.items():
        yield f"  {name:<20}{count.passed:>5} of {count.all}"
    found = [outcome.status for outcome in run.outcomes.values()]
    yield ", ".join(f"{found.count(status)} {status}" for status in STATUSES)
    took = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in run.seconds.items())
    yield f"{run.kernels} kernels in {run.units} units; {took}"
    for key, outcome in verdict.failures.items():
        message = outcome.message.splitlines()[0] if outcome.message else ""
        yield f"{outcome.status.upper()} {key}: {message}"
    for key in verdict.successes:
        yield f"PASSES {key}: it must leave expected_failures.toml"


def as_json(cases: Sequence[Case], run: Run, verdict: Verdict, reasons: Mapping[str, str], target: str) -> dict[str, Any]:
    """Return everything as what JSON can hold."""
    suites, operators = counts(cases, run.outcomes)
    return {
        "target": target,
        "is_good": verdict.is_good,
        "versions": _versions(),
        "seconds": {name: round(seconds, 1) for name, seconds in run.seconds.items()},
        "kernels": run.kernels,
        "suites": {name: asdict(count) for name, count in suites.items()},
        "operators": {name: asdict(count) for name, count in operators.items()},
        "cases": {
            case.key: {
                "operator": case.operator,
                "kinds": list(kinds(case)),
                "status": run.outcomes[case.key].status,
                "message": run.outcomes[case.key].message,
                "expected": reasons.get(case.key),
            }
            for case in cases
        },
    }


def _versions() -> dict[str, str]:
    found = {"nautilus": __version__, "python": platform.python_version()}
    for name in ("onnx", "numpy", "nvidia-cuda-nvrtc"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
