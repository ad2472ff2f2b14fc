"""Fills the tables of docs/performance.md out of the JSON files beside it, which tests.bench.keep writes.

A table stands between `<!-- table NAME -->` and `<!-- end -->`.

Usage: python -m tests.bench.page [--check]      --check only says, by the exit code, whether the page is up to date
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import exp, log
from typing import Any

from tests.bench.keep import DOCS, Row, read

PAGE = DOCS / "performance.md"
TENSOR_TYPES = ("fp16", "bf16", "tf32", "3xtf32")
FEW = 64
"""Rows that a table of its own holds, where B is large enough that it decides."""
LARGE_B = 2048 * 768


def us(time: float) -> str:
    """Return microseconds with about four digits."""
    return f"{time:.0f}" if time >= 1000 else f"{time:.1f}" if time >= 20 else f"{time:.2f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"|{'|'.join(f' {cell} ' if cell != '---' else cell for cell in line)}|\n" for line in lines)


def named(product: str) -> tuple[int, int, int, str, str, str]:
    """Return m, n, k, type, layout and epilogue of a product's name."""
    extents, dtype, layout, *epilogue = product.split("-")
    m, n, k = map(int, extents.split("x"))
    return m, n, k, dtype, layout, (epilogue or ["plain"])[0]


LAYOUTS = {"kk": "", "kn": ", B with n last", "mk": ", A with m last"}


def title(product: str, *, has_type: bool = True) -> str:
    """Return a product's name for people."""
    m, n, k, dtype, layout, _ = named(product)
    extents = f"{m}³" if m == n == k else f"{m}×{n}×{k}"
    return f"{extents}{f' {dtype}' if has_type else ''}{LAYOUTS[layout]}"


def schedule(kernel: Mapping[str, Any]) -> str:
    """Return what a kernel's schedule is, in short."""
    s: Mapping[str, Any] = kernel["schedule"]
    tile = "×".join(str(s.get(name, 1)) for name in ("tile_m", "tile_n"))
    match kernel["family"]:
        case "gemm_wgmma":
            found = ["transposed"] if s.get("swaps") else []
            found += [tile, f"{s.get('consumers', 1)}{' by turns' if s.get('ping_pong') else ''}"]
            shares = "×".join(str(s.get(name, 1)) for name in ("cluster_m", "cluster_n"))
            found += [shares] if shares != "1×1" else []
            found += ["slices of the depth"] if s.get("slices_depth") else []
            found += [f"depth by {s['cluster_k']}"] if "cluster_k" in s else []
            found += [word for name, word in (("stores_boxes", "boxes"), ("early_trigger", "early")) if s.get(name)]
        case "gemm_skinny":
            found = ["mma"] if s.get("tensor_cores") else []
            found += [f"{s.get('tile_n', 1)} columns", f"{s.get('loads', 1)} loads"]
            found += [f"{s['slices_k']} slices"] if "slices_k" in s else []
            found += [f"depth by {s['cluster_k']}"] if "cluster_k" in s else []
        case "gemm":
            found = [f"{tile}×{s.get('tile_k', 1)}", "×".join(str(s.get(name, 1)) for name in ("thread_m", "thread_n"))]
            found += [f"{s['slices_k']} slices"] if "slices_k" in s else []
            found += [f"{s.get('stages', 1)} stages"]
        case family:
            found = [family, f"{tile}×{s.get('tile_k', 1)}", f"{s.get('stages', 1)} stages"]
    return ", ".join(found)


def ratio(row: Row, kernel: Mapping[str, Any] | None, key: str = "us_pdl") -> str:
    """Return how many times as fast as cuBLAS a kernel is."""
    return "–" if kernel is None or row["cublas_us"] is None else f"{row['cublas_us'] / kernel[key]:.2f}"


def mean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    logs = [log(value) for value in values]
    return exp(sum(logs) / len(logs)) if logs else float("nan")


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


def models() -> str:
    """Return whole models, with PyTorch's in brackets where it was measured."""
    found: dict[str, dict[str, Row]] = {}
    for row in read("models")["rows"]:
        name, _, dtype = row["model"].split(".")
        found.setdefault(name, {})[dtype] = row
    torch = {(row["model"], row["dtype"]): row["us"] for row in read("peers")["rows"] if row["kind"] == "torch" and row["batch"] == 1}
    rows = []
    for name, by in found.items():
        cells = [
            (us(by[t]["latency_us"]), us(torch[name, t]) if (name, t) in torch else "–", f"{by[t]['max_abs']:.1e}")
            if t in by
            else ("–",) * 3
            for t in ("fp16", "fp32")
        ]
        launches = "/".join(dict.fromkeys(str(row["launches"]) for row in by.values()))
        rows.append((name, launches, *(cell for pair in zip(*cells, strict=True) for cell in pair)))
    return table(
        ("model", "launches", "fp16", "fp32", "torch, fp16", "torch, fp32", "worst error, fp16", "worst error, fp32"),
        rows,
    )


def beside_static(name: str, sizes: str) -> str:
    """Return a library for many sizes beside libraries of one each."""
    return table(
        (sizes, "static", "dynamic", "dynamic / static"),
        (
            ("×".join(map(str, row["shape"])), us(row["static_us"]), us(row["dynamic_us"]), f"{row['ratio']:.2f}")
            for row in read(name)["rows"]
        ),
    )


def first_calls() -> str:
    """Return what random shapes in sequence cost."""
    return table(
        (
            "random shapes",
            "worst first call / steady",
            "median",
            "of it, until sizes are worked out / all is launched, median",
            "second call longer by, median / worst",
            "device memory grew by",
        ),
        (
            (
                f"{model}, {one['shapes']}, seed {one['seed']}",
                f"{one['worst_first']:.2f}",
                f"{one['median_first']:.2f}",
                f"{one['median_reshape_us']:.0f} / {one['median_launched_us']:.0f} µs",
                f"{one['median_graph_us']:.0f} / {one['worst_graph_us']:.0f} µs",
                f"{one['grown_bytes']} bytes",
            )
            for name, model in (("dynamic", "BERT-base"), ("dynamic_gpt2", "GPT-2"))
            for one in read(name).get("sequences", ())
        ),
    )


def loops() -> str:
    """Return what an iteration of a loop costs."""
    return table(
        ("loop", "launches an iteration", "one by one, µs", "as a graph, µs"),
        ((row["name"], str(row["launches"]), us(row["stream_us"]), us(row["graph_us"])) for row in read("loops")["rows"]),
    )


def while_nodes() -> str:
    """Return what an iteration of a WHILE node costs, by what its body holds."""
    found: dict[tuple[int, str], dict[tuple[bool, int], float]] = {}
    for row in read("while")["rows"]:
        found.setdefault((row["kernels"], row["condition"]), {})[row["programmatic"], row["copies"]] = row["us"]
    return table(
        ("kernels", "the condition is set by", "µs", "with a copy of 256 bytes", "programmatic edges", "both"),
        (
            (
                str(kernels),
                "the last of them" if condition == "inside" else "one more",
                *(us(times[key]) for key in ((False, 0), (False, 1), (True, 0), (True, 1))),
            )
            for (kernels, condition), times in found.items()
        ),
    )


INSTRUCTIONS = {
    **{f"multiplications_{chains}": f"FFMA, {chains} independent" for chains in (1, 2, 3, 4, 8)},
    "maxima": "FMNMX, 8 independent",
    "exponentials": "MUFU, 8 independent",
    "alternating": "FFMA and FMNMX in turns",
    "gelu_short": "a bias and GELU, short",
    "gelu_beside": "a bias and GELU as it stands beside products",
}
"""Names of the kinds of tests/bench/gemm/beside.cu; others are called by what they are."""


def beside() -> str:
    """Return what instructions of other warps cost tensor cores."""
    return table(
        ("instructions", "cycles of tensor cores that each takes", "one every ... cycles, alone", "beside products"),
        (
            (
                INSTRUCTIONS.get(row["kind"], row["kind"]),
                f"{max(row['stolen'], 0):.2f}",
                f"{row['interval_alone']:.2f}",
                f"{row['interval_beside']:.2f}",
            )
            for row in read("beside")["rows"]
        ),
    )


TABLES: Mapping[str, Callable[[], str]] = {
    "beside": beside,
    "dynamic": lambda: beside_static("dynamic", "batch × sequence"),
    "epilogues": epilogues,
    "few_rows": few_rows,
    "ffma": ffma,
    "first_calls": first_calls,
    "gated": gated,
    "loops": loops,
    "models": models,
    "open_products": open_products,
    "open_vit": lambda: beside_static("open_vit", "images × height × width"),
    "products": products,
    "summary": summary,
    "while": while_nodes,
}

_PLACE = re.compile(r"(<!-- table (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str) -> str:
    """Return a page with its tables made anew."""
    return _PLACE.sub(lambda place: f"{place[1]}{TABLES[place['name']]()}{place[3]}", page)


def main(arguments: list[str]) -> int:
    """Run the command line; see the module's text."""
    page = PAGE.read_text(encoding="utf-8")
    match arguments:
        case []:
            PAGE.write_text(filled(page), encoding="utf-8")
            return 0
        case ["--check"]:
            return int(filled(page) != page)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
