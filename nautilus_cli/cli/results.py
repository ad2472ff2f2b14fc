"""How results are printed: for people, or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from nautilus_cli.cli.settings import Settings
from nautilus_cli.cli.text import counted, printable, size, table, to_json
from nautilus_cli.errors import VerificationError

if TYPE_CHECKING:
    from nautilus_cli.driver import CompileResult, InspectResult, TuneResult, VerifyResult
    from nautilus_cli.driver.compilation import CompiledTarget
    from nautilus_cli.driver.group_results import GroupResult
    from nautilus_cli.numerics.comparison import Comparison


def show_notes(notes: Sequence[str], settings: Settings) -> None:
    """Print sentences on stderr."""
    if not settings.quiet:
        for note in notes:
            click.echo(f"note: {printable(note)}", err=True)


def show_verification(result: VerifyResult, as_json: bool) -> None:
    """Print the table of a verification; of a dataset the worst case of each output, then the cases that fail; one for each target."""
    if as_json:
        click.echo(to_json(verification_data(result)))
        return
    for found in (result, *result.more_targets):
        if result.more_targets:
            click.echo(printable(f"on {found.target}:"))
        _show_target(found)


def _show_target(result: VerifyResult) -> None:
    columns = ("output", "elements", "max abs", "max rel", "cosine", "NaN", "Inf", "rtol", "atol", "verdict")
    rows = [
        (
            name,
            str(found.elements),
            f"{found.max_abs:.2e}",
            f"{found.max_rel:.2e}",
            f"{found.cosine:.7f}",
            _counts(found.actual_nan, found.expected_nan),
            _counts(found.actual_inf, found.expected_inf),
            f"{found.tolerance.rtol:.1e}",
            f"{found.tolerance.atol:.1e}",
            "ok" if found.is_match else f"FAILED: {found.failures} beyond",
        )
        for name, found in result.comparisons.items()
    ]
    click.echo(table(columns, rows))
    if result.cases:
        failed = [case.name for case in result.cases if not case.is_match]
        verdict = f"{len(failed)} failed: {_list(failed)}" if failed else "all match"
        click.echo(printable(f"{len(result.cases)} cases against {result.reference}, each output's worst above; {verdict}"))

    if result.groups:
        click.echo("\n" + _groups_table(result.groups))
        click.echo(printable(result.fault.text if result.fault else f"every group matches {result.groups_reference}"))


def _groups_table(groups: Sequence[GroupResult]) -> str:
    """Return a row for each tensor that a group stores and that ONNX has, and one for a group without any."""
    columns = ("group", "family", "operators", "ONNX nodes", "tensor", "max abs", "cosine", "verdict")
    rows = []
    for number, group in enumerate(groups):
        what = (str(number), group.family, _list(group.operators, 4), _list(group.nodes, 4))
        for name, found in group.comparisons.items():
            verdict = "ok" if found.is_match else f"FAILED: {found.failures} beyond"
            rows.append((*what, name, f"{found.max_abs:.2e}", f"{found.cosine:.7f}", verdict))
        if not group.comparisons:
            rows.append((*what, "-", "-", "-", "not compared"))
    return table(columns, rows)


def _counts(actual: int, expected: int) -> str:
    return str(actual) if actual == expected else f"{actual} for {expected}"


def _list(names: Sequence[str], limit: int = 10) -> str:
    return ", ".join(names[:limit]) + (f", and {len(names) - limit} more" if len(names) > limit else "")


def verification_data(result: VerifyResult) -> dict[str, Any]:
    """Return a verification as data."""
    data = {
        "target": result.target,
        "reference": result.reference,
        "match": all(found.is_match for found in result.comparisons.values()),
        "outputs": _outputs_data(result.comparisons),
        "notes": result.notes,
    }
    if result.more_targets:
        data["more_targets"] = [verification_data(more) for more in result.more_targets]
    if result.cases:
        data["cases"] = [{"name": c.name, "match": c.is_match, "outputs": _outputs_data(c.comparisons)} for c in result.cases]
    if result.groups:
        data["groups"] = [
            {"family": g.family, "kernel": g.kernel, "nodes": g.nodes, "tensors": _outputs_data(g.comparisons)} for g in result.groups
        ]
        names = ("cause", "group", "tensor", "nodes", "kernel", "text")
        data["fault"] = {name: getattr(result.fault, name) for name in names} if result.fault else None
    return data


def _outputs_data(comparisons: Mapping[str, Comparison]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "elements": found.elements,
            "max_abs": found.max_abs,
            "max_rel": found.max_rel,
            "cosine": found.cosine,
            "nan": {"actual": found.actual_nan, "expected": found.expected_nan},
            "inf": {"actual": found.actual_inf, "expected": found.expected_inf},
            "rtol": found.tolerance.rtol,
            "atol": found.tolerance.atol,
            "failures": found.failures,
            "match": found.is_match,
        }
        for name, found in comparisons.items()
    ]


def require_match(result: VerifyResult) -> None:
    """Check that every output matches, on every target.

    Raises:
        VerificationError: an output differs.
    """
    for found in (result, *result.more_targets):
        _require_match(found, f" on {found.target}" if result.more_targets else "")


def _require_match(result: VerifyResult, place: str) -> None:
    failed = [name for name, found in result.comparisons.items() if not found.is_match]
    if failed:
        count = (
            f"{len(failed)} of {len(result.comparisons)} outputs differ{place} by more than the tolerance from those of {result.reference}"
        )
        raise VerificationError(f"{count}: {', '.join(failed)}.", hint="An element fails only if it exceeds both tolerances.")
    if result.fault:  # the outputs match all the same
        raise VerificationError(result.fault.text)


def show_compilation(result: CompileResult, as_json: bool) -> None:
    """Print what was written."""
    if as_json:
        click.echo(to_json(compilation_data(result)))
        return
    first, *more = result.targets
    if more:
        names = ", ".join(t.target for t in result.targets)
        click.echo(f"{printable(str(result.library))}: {size(result.library_bytes)} for {names}, weights {size(result.weight_bytes)}")
        for found in result.targets:
            click.echo(f"  {found.target}: {_target_text(found)}")
    else:
        click.echo(
            f"{printable(str(result.library))}: {size(result.library_bytes)} for {first.target}, "
            f"{counted(first.kernels, 'kernel')} in {counted(first.launches, 'launch')}, "
            f"weights {size(result.weight_bytes)}, workspace {size(first.arena_bytes)}"
        )
    if result.weights:
        click.echo(f"{printable(str(result.weights))}: weights")
    click.echo(f"{printable(str(result.manifest))}: manifest")
    if result.verification:
        show_verification(result.verification, as_json=False)


def _target_text(found: CompiledTarget) -> str:
    return f"{counted(found.kernels, 'kernel')} in {counted(found.launches, 'launch')}, workspace {size(found.arena_bytes)}"


def compilation_data(result: CompileResult) -> dict[str, Any]:
    """Return a compilation as data."""
    return {
        "library": result.library,
        "manifest": result.manifest,
        "weights": result.weights,
        "targets": [{name: getattr(t, name) for name in ("target", "kernels", "launches", "arena_bytes")} for t in result.targets],
        "library_bytes": result.library_bytes,
        "weight_bytes": result.weight_bytes,
        "notes": result.notes,
        "verification": verification_data(result.verification) if result.verification else None,
    }


def show_tuning(result: TuneResult, as_json: bool) -> None:
    """Print the best schedule of each problem."""
    if as_json:
        names = ("family", "problem", "schedule", "latency_us", "baseline_us", "trials", "refused")
        rows_as_data = [{name: getattr(found, name) for name in names} for found in result.problems]
        click.echo(to_json({"target": result.target, "problems": rows_as_data, "notes": result.notes}))
        return
    columns = ("family", "problem", "µs", "before", "trials", "refused", "schedule")
    rows = [
        (p.family, p.problem, f"{p.latency_us:.2f}", f"{p.baseline_us:.2f}", str(p.trials), str(p.refused), p.schedule)
        for p in result.problems
    ]
    click.echo(table(columns, rows) if rows else "Nothing to tune: no kernel family of this model has a search space yet.")


def show_inspection(result: InspectResult, as_json: bool) -> None:
    """Print each section under its title."""
    if as_json:
        click.echo(to_json(result.data))
        return
    blocks = []
    for section in result.sections:
        parts = [section.title, "\n".join(printable(line) for line in section.text.splitlines())]
        if section.columns:
            parts.append(table(section.columns, section.rows))
        blocks.append("\n".join(part for part in parts if part))
    click.echo("\n\n".join(blocks))
