"""What a run measured, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def of(found: Mapping[str, Any]) -> str:
    """Return the table of sampled shapes, and a sentence on the sequence."""
    lines = ["| batch × sequence | static | dynamic | dynamic / static |", "|---|---|---|---|"]
    for row in found["rows"]:
        batch, tokens = row["shape"]
        lines.append(f"| {batch}×{tokens} | {_us(row['static_us'])} | {_us(row['dynamic_us'])} | {row['ratio']:.2f} |")
    open_, counts = found["open"], sorted({row["static"]["launches"] for row in found["rows"]})
    lines += ["", f"The open library launches {open_['launches']} kernels where a static one launches {' or '.join(map(str, counts))}."]
    for sequence in found["sequences"]:
        lines.append(
            f"{sequence['shapes']} random shapes in sequence (seed {sequence['seed']}): the first call took at most "
            f"{sequence['worst_first']:.2f} times the steady state (median {sequence['median_first']:.2f}); the second, which makes the "
            f"graph, {sequence['median_graph_us']:.0f} µs longer than later ones (median; at most {sequence['worst_graph_us']:.0f}). "
            f"After the first ten shapes, device memory grew by {sequence['grown_bytes']} bytes."
        )
    return "\n".join(lines)


def _us(time: float) -> str:
    return f"{time:.1f}" if time < 1000 else f"{time:.0f}"
