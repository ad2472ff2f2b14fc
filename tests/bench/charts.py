"""Draws docs/products.svg and docs/models.svg out of what tests.bench.keep has kept; needs matplotlib.

Usage: python -m tests.bench.charts
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.bench.cells import named, title
from tests.bench.keep import DOCS, read

OURS, THEIRS, TEXT = "#2f6f9f", "#b0b0b0", "#333333"


def figure(height: float) -> tuple[Any, Any]:
    """Return a figure and its axes, which come out the same every time."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "nautilus", "font.size": 8}
    drawn, axes = pyplot.subplots(figsize=(8, height))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return drawn, axes


def save(drawn: Any, path: Path) -> None:
    """Write a figure."""
    drawn.tight_layout()
    drawn.savefig(path, metadata={"Date": None})


def products(path: Path) -> None:
    """Draw the best time of every product as a ratio of cuBLAS's in the same run: longer is faster."""
    rows = [row for row in read("products")["rows"] if named(row["product"])[5] == "plain" and row["cublas_us"]]
    best = {title(row["product"]): row["cublas_us"] / row["best"]["us_pdl"] for row in rows}
    drawn, axes = figure(0.6 + 0.2 * len(best))
    places = list(range(len(best)))[::-1]
    axes.barh(places, list(best.values()), color=OURS, height=0.7)
    axes.set_yticks(places, list(best), color=TEXT)
    axes.set_xlabel("time of cuBLAS / ours with programmatic edges", color=TEXT)
    for place, ratio in zip(places, best.values(), strict=True):
        axes.text(ratio, place, f" {ratio:.2f}", va="center", fontsize=7, color=TEXT)
    axes.axvline(1.0, color=TEXT, linewidth=0.8)
    axes.margins(x=0.08, y=0.01)
    save(drawn, path)


def models(path: Path) -> None:
    """Draw the latency of whole models beside PyTorch's: shorter is faster."""
    torch = {f"{row['model']}.{row['dtype']}": row["us"] for row in read("peers")["rows"] if row["kind"] == "torch" and row["batch"] == 1}
    ours = {".".join(row["model"].split(".")[::2]): row["latency_us"] for row in read("models")["rows"]}
    names = [name for name in ours if name in torch]
    drawn, axes = figure(0.7 + 0.36 * len(names))
    for number, name in enumerate(names):
        for offset, time, colour in ((-0.18, ours[name], OURS), (0.18, torch[name], THEIRS)):
            axes.barh(number + offset, time, color=colour, height=0.34)
            axes.text(time, number + offset, f" {time:.0f}", va="center", fontsize=7, color=TEXT)
    axes.set_yticks(range(len(names)), [name.replace(".", ", ") for name in names], color=TEXT)
    axes.invert_yaxis()
    axes.set_xlabel("µs at batch 1 on an H200: Nautilus blue, PyTorch in a CUDA graph grey", color=TEXT)
    axes.margins(x=0.08, y=0.01)
    save(drawn, path)


def main() -> int:
    """Draw them."""
    products(DOCS / "products.svg")
    models(DOCS / "models.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
