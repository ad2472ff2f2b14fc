"""A chart of measured products: how fast ours are beside cuBLAS."""

from __future__ import annotations

import json
from pathlib import Path

from tests.bench.page import named, title

OURS, TEXT = "#2f6f9f", "#333333"


def rates(results: Path, chart: Path) -> None:
    """Draw the best time of every product that tests.bench.keep has kept, as a ratio of cuBLAS's in the same run: longer is faster."""
    rows = [row for row in json.loads(results.read_text())["rows"] if named(row["product"])[5] == "plain" and row["cublas_us"]]
    best = {title(row["product"]): row["cublas_us"] / row["best"]["us_pdl"] for row in rows}
    import matplotlib

    matplotlib.use("svg" if chart.suffix == ".svg" else "agg")
    from matplotlib import pyplot

    pyplot.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "products"}
    figure, axes = pyplot.subplots(figsize=(8, 0.6 + 0.24 * len(best)))
    places = list(range(len(best)))[::-1]
    axes.barh(places, list(best.values()), color=OURS, height=0.7)
    axes.set_yticks(places, list(best), fontsize=8, color=TEXT)
    axes.set_xlabel("time of cuBLAS / ours with programmatic edges", fontsize=8, color=TEXT)
    for place, ratio in zip(places, best.values(), strict=True):
        axes.text(ratio, place, f" {ratio:.2f}", va="center", fontsize=7, color=TEXT)
    axes.axvline(1.0, color=TEXT, linewidth=0.8)
    axes.margins(x=0.08, y=0.01)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(chart, dpi=150, metadata={"Date": None} if chart.suffix == ".svg" else None)
