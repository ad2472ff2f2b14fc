"""Tables of models, of loops, and of what instructions cost."""

from __future__ import annotations

from tests.bench.cells import table, us
from tests.bench.keep import Row, read


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
