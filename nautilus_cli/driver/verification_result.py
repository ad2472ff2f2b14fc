"""What a verification found, and its verdict beside the library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nautilus_cli.driver.group_results import Fault, GroupResult
from nautilus_cli.numerics import Comparison
from nautilus_cli.verify import report


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What was found for one case of a dataset.

    Attributes:
        name: of its file or folder.
        comparisons: of each output, in ONNX order.
    """

    name: str
    comparisons: Mapping[str, Comparison]

    @property
    def is_match(self) -> bool:
        """Whether every output matches."""
        return all(found.is_match for found in self.comparisons.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult:
    """What a verification found.

    Attributes:
        target: what the library ran on.
        reference: what it was compared with.
        comparisons: of each output, in ONNX order; of several cases the worst.
        report: the verdict's file, beside the library.
        notes: sentences for the user.
        cases: of a dataset; empty where there is none.
        groups: what each group of nodes stores, if that was asked for.
        groups_reference: what that was compared with.
        fault: where results begin to be wrong, if that was asked for and they are.
        verdict: what the verdict's file says.
        more_targets: the same for other targets of the library that run here.
    """

    target: str
    reference: str
    comparisons: Mapping[str, Comparison]
    report: Path
    notes: tuple[str, ...] = ()
    cases: tuple[CaseResult, ...] = ()
    groups: tuple[GroupResult, ...] = ()
    groups_reference: str = ""
    fault: Fault | None = None
    verdict: Mapping[str, Any] = field(default_factory=dict, repr=False)
    more_targets: tuple[VerifyResult, ...] = ()


def write_verdict(result: VerifyResult) -> None:
    """Write what was found beside the library.

    Raises:
        FileError: it cannot be written.
    """
    data = dict(result.verdict)
    if result.more_targets:
        data["more_targets"] = [dict(more.verdict) for more in result.more_targets]
        data["match"] = all(verdict["match"] for verdict in (result.verdict, *data["more_targets"]))
    report.write(data, result.report)
