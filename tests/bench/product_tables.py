"""Tables of products, of what was measured beside cuBLAS."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.bench.cells import mean, named, ratio, schedule, table, title, us
from tests.bench.keep import Row, read

TENSOR_TYPES = ("fp16", "bf16", "tf32", "3xtf32")
FEW = 64
"""Rows that a table of its own holds, where B is large enough that it decides."""
LARGE_B = 2048 * 768


def chosen(select: Callable[[int, int, int, str], bool], epilogue: str = "plain") -> list[Row]:
    """Return the products for which SELECT holds of m, n, k and type."""
    return [row for row in read("products")["rows"] if named(row["product"])[5] == epilogue and select(*named(row["product"])[:4])]


def is_few(m: int, n: int, k: int, _dtype: str = "") -> bool:
    """Return whether a product's weights decide its time."""
    return m <= FEW and n * k >= LARGE_B


def product_table(rows: Sequence[Row]) -> str:
    """Return a table of products beside cuBLAS."""
    return table(
        ("m×n×k, type", "time / with PDL", "cuBLAS", "ratio / with PDL", "untuned, with PDL", "best schedule"),
        (
            (
                title(row["product"]),
                f"{us(row['best']['us'])} / {us(row['best']['us_pdl'])}",
                us(row["cublas_us"]),
                f"{ratio(row, row['best'], 'us')} / {ratio(row, row['best'])}",
                ratio(row, row["untuned"]),
                schedule(row["best"]),
            )
            for row in rows
        ),
    )


def products() -> str:
    """Return products on tensor cores, and what they are altogether."""
    rows = chosen(lambda m, n, k, dtype: dtype in TENSOR_TYPES and not is_few(m, n, k))
    return product_table(rows)


GROUPS: tuple[tuple[str, Callable[[int, int, int, str], bool]], ...] = (
    ("fp16, from 2·10⁹ operations on", lambda m, n, k, dtype: dtype == "fp16" and m * n * k >= 1 << 30 and not is_few(m, n, k)),
    ("bf16, from 2·10⁹ operations on", lambda m, n, k, dtype: dtype == "bf16" and m * n * k >= 1 << 30),
    ("fp16, smaller", lambda m, n, k, dtype: dtype == "fp16" and m * n * k < 1 << 30 and not is_few(m, n, k)),
    ("16 bits, few rows", lambda m, n, k, dtype: dtype in ("fp16", "bf16") and is_few(m, n, k)),
    ("tf32", lambda m, n, k, dtype: dtype == "tf32"),
    ("3xtf32, of strict fp32", lambda m, n, k, dtype: dtype == "3xtf32"),
    ("strict fp32", lambda m, n, k, dtype: dtype == "fp32"),
)


def summary() -> str:
    """Return what groups of products come to, with programmatic edges."""
    rows = []
    for name, select in GROUPS:
        found = [row for row in chosen(select) if row["cublas_us"] is not None]
        if not found:
            continue
        best = [row["cublas_us"] / row["best"]["us_pdl"] for row in found]
        untuned = [row["best"]["us_pdl"] / row["untuned"]["us_pdl"] for row in found if row["untuned"]]
        shares = (f"{mean(untuned):.3f}", f"{min(untuned):.2f}") if untuned else ("–", "–")
        rows.append((name, str(len(found)), f"{mean(best):.2f}", f"{min(best):.2f}", *shares))
    return table(("", "products", "ratio, geometric mean", "least", "untuned of best, geometric mean", "least"), rows)


def few_rows() -> str:
    """Return products with few rows, with the bytes of B a second."""
    found = sorted(chosen(lambda m, n, k, dtype: is_few(m, n, k)), key=lambda row: named(row["product"])[3] == "fp32")

    def rate(row: Row) -> str:
        _, n, k, dtype, *_ = named(row["product"])
        return f"{n * k * (4 if dtype == 'fp32' else 2) / row['best']['us_pdl'] / 1e6:.2f}"

    return table(
        ("m×n×k, type", "time / with PDL", "TB/s of B, with PDL", "cuBLAS", "ratio / with PDL", "untuned, with PDL", "best schedule"),
        (
            (
                title(row["product"]),
                f"{us(row['best']['us'])} / {us(row['best']['us_pdl'])}",
                rate(row),
                us(row["cublas_us"]),
                f"{ratio(row, row['best'], 'us')} / {ratio(row, row['best'])}",
                ratio(row, row["untuned"]),
                f"{'' if row['best']['family'] == 'gemm_skinny' else row['best']['family'] + ': '}{schedule(row['best'])}",
            )
            for row in found
        ),
    )


def ffma() -> str:
    """Return products in strict fp32."""
    rows = chosen(lambda m, n, k, dtype: dtype == "fp32" and not is_few(m, n, k))

    def rate(row: Row) -> str:
        m, n, k, *_ = named(row["product"])
        return f"{2 * m * n * k / row['best']['us'] / 1e6:.1f}"

    return table(
        ("m×n×k", "time", "TFLOP/s", "cuBLAS", "ratio", "untuned", "best schedule: block, thread, depth's slices, stages"),
        (
            (
                title(row["product"], has_type=False),
                us(row["best"]["us"]),
                rate(row),
                us(row["cublas_us"]),
                ratio(row, row["best"], "us"),
                ratio(row, row["untuned"], "us"),
                schedule(row["best"]),
            )
            for row in rows
        ),
    )


def epilogues() -> str:
    """Return what a bias and GELU cost, and what they cost cuBLAS."""
    found: dict[str, dict[str, Row]] = {}
    for row in read("products")["rows"]:
        *_, epilogue = named(row["product"])
        found.setdefault(row["product"].removesuffix(f"-{epilogue}"), {})[epilogue] = row
    rows = []
    for product, by in found.items():
        if {"plain", "bias", "gelu"} - set(by):
            continue
        plain = by["plain"]["best"]["us_pdl"]
        costs = [f"{us(by[e]['best']['us_pdl'])}, {by[e]['best']['us_pdl'] / plain - 1:.1%}" for e in ("bias", "gelu")]
        known = [by[e]["cublas_us"] for e in ("plain", "gelu")]
        rows.append((title(product), us(plain), *costs, " / ".join("–" if time is None else us(time) for time in known)))
    return table(("", "plain", "bias", "bias and GELU", "cuBLAS: plain / GELU by tanh"), rows)


def open_products() -> str:
    """Return what open extents cost."""
    rows = []
    for row in read("open_products")["rows"]:
        cells = []
        for label in ("same", "chosen"):
            known = row.get(label)
            for names in ("m", "mnk"):
                found = row.get(f"{label} open {names}")
                cells.append("–" if known is None or found is None else f"{found[1] / known[1]:.2f}")
        rows.append((title(row["product"]), us(row.get("chosen", row.get("same"))[1]), *cells))
    return table(
        ("", "known, chosen", "same schedule: m open", "m, n, k open", "as chosen: m open", "m, n, k open"),
        rows,
    )


def gated() -> str:
    """Return gated units as one kernel, as two, and by torch."""
    return table(
        ("m×n×k", "one", "two", "torch"),
        (("×".join(map(str, row["shape"])), *(us(row[kind]) for kind in ("one", "two", "torch"))) for row in read("gated")["rows"]),
    )
