"""Charts of measured products: how fast ours are beside cuBLAS, and the ladder from a naive kernel to a tuned one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

OURS, THEIRS, TEXT = "#2f6f9f", "#9a9a9a", "#333333"


def rates(results: Path, chart: Path) -> None:
    """Draw the best time of every product, as a ratio of cuBLAS's in the same run: longer is faster."""
    best: dict[str, float] = {}
    for row in json.loads(results.read_text()):
        if row.get("is_right"):
            best[row["product"]] = max(best.get(row["product"], 0.0), row["ratio_pdl"])
    _bars(chart, list(best), list(best.values()), "time of cuBLAS / ours", [f"{ratio:.2f}" for ratio in best.values()], mark=1.0)


def ladder(results: Path, chart: Path) -> None:
    """Draw one product's rate by each kernel of the set `ladder`, in the order of their labels, and cuBLAS's."""
    rows: list[dict[str, Any]] = json.loads(results.read_text())
    steps = sorted((row for row in rows if row.get("is_right")), key=lambda row: row["label"])
    names = [row["label"].split(" ", 1)[1] for row in steps] + [
        f"cuBLAS {row['product'].split('-')[1]}" for row in rows if "launches" in row
    ]
    times = [row["us"] for row in steps] + [row["us"] for row in rows if "launches" in row]
    flops = [row["tflops"] for row in steps] + [row["tflops"] for row in rows if "launches" in row]
    _bars(chart, names, flops, "TFLOP/s", [f"{us:.1f} µs" for us in times])


def _bars(chart: Path, names: list[str], values: list[float], axis: str, notes: list[str], *, mark: float | None = None) -> None:
    import matplotlib

    matplotlib.use("svg" if chart.suffix == ".svg" else "agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 0.6 + 0.28 * len(names)))
    places = list(range(len(names)))[::-1]
    axes.barh(places, values, color=[THEIRS if "cuBLAS" in name else OURS for name in names], height=0.7)
    axes.set_yticks(places, names, fontsize=8, color=TEXT)
    axes.set_xlabel(axis, fontsize=8, color=TEXT)
    for place, value, note in zip(places, values, notes, strict=True):
        axes.text(value, place, f" {note}", va="center", fontsize=7, color=TEXT)
    if mark is not None:
        axes.axvline(mark, color=TEXT, linewidth=0.8)
    axes.margins(x=0.12, y=0.01)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(chart, dpi=150)
