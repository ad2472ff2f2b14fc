"""docs/performance.md quotes what was measured: its tables come out of the JSON files beside it, and these out of runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.bench import cells, keep, page

TEXT = page.PAGE.read_text(encoding="utf-8")


def measured(product: str, label: str, us: float, **fields: Any) -> dict[str, Any]:
    schedule = {"tile_m": 128, "tile_n": 64, "consumers": 2, "cluster_m": 1, "ping_pong": False, "vector_c": 8}
    return {
        "product": product,
        "label": label,
        "family": "gemm_wgmma",
        "schedule": schedule,
        "us": us,
        "us_pdl": us - 1,
        "error": 1e-4,
    } | fields


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(keep, "DOCS", tmp_path)
    return tmp_path


def test_tables_are_up_to_date() -> None:
    assert page.filled(TEXT) == TEXT, "run: python -m tests.bench.page"


def test_a_table_that_differs_is_seen() -> None:
    name = re.findall(r"<!-- table (\w+) -->\n\|", TEXT)[0]
    changed = TEXT.replace(f"<!-- table {name} -->\n|", f"<!-- table {name} -->\n| typed |\n|", 1)
    assert page.filled(changed) == TEXT != changed


def test_every_table_stands_between_its_marks() -> None:
    names = re.findall(r"<!-- table (\w+) -->", TEXT)
    assert len(names) == TEXT.count("<!-- end -->") and set(names) <= set(page.TABLES)


def test_the_readme_says_what_new_shapes_cost_in_the_last_run() -> None:
    text = " ".join((page.DOCS.parent / "README.md").read_text(encoding="utf-8").split())
    sequences = keep.read("dynamic")["sequences"]
    (median, worst), (second, longest) = (
        ([one[f"median_{key}"] for one in sequences], max(one[f"worst_{key}"] for one in sequences)) for key in ("first", "graph_us")
    )
    launches = keep.read("dynamic")["open"]["launches"]
    assert f"{between(x / 1e3 for x in second)} ms once in the median of random shapes, {longest / 1e3:.1f} at most" in text
    assert f"({launches} launches, H200)" in text
    assert f"{between(median)} times as long as later ones in the median, and {worst:.1f} at most" in text


def between(numbers: Iterable[float]) -> str:
    """The least and the greatest, or the one number that both are as they are printed."""
    kept = list(numbers)
    least, greatest = (f"{end(kept):.1f}" for end in (min, max))
    return least if least == greatest else f"{least} to {greatest}"


def test_the_fastest_kernel_and_the_choice_of_a_product_are_kept(docs: Path) -> None:
    run = [
        measured("8x64x32-fp16-kk", "chosen", 9.0),
        measured("8x64x32-fp16-kk", "another", 7.0),
        measured("8x64x32-fp16-kk", "chosen open m", 2.0, symbolic="m"),
        {"product": "8x64x32-fp16-kk", "label": "wrong", "family": "gemm", "schedule": {}, "error": 1.0},
        {"product": "8x64x32-fp16-kk", "label": "cublas", "us": 12.0},
    ]
    (row,) = keep.products(run, "here")["rows"]
    assert (row["best"]["us"], row["untuned"]["us"], row["cublas_us"], row["tried"]) == (7.0, 9.0, 12.0, 2)
    assert row["best"]["schedule"] == {"tile_m": 128, "tile_n": 64, "consumers": 2}
    (docs / "products.json").write_text(keep.text({"rows": [row, row | {"product": "1x1x1-fp16-kk"}]}))
    first, other = keep.products([measured("8x64x32-fp16-kk", "chosen", 5.0)], "there")["rows"]
    assert (first["where"], first["best"]["us"], other["where"]) == ("there", 5.0, "here")


def test_times_of_wrong_results_are_not_kept(docs: Path) -> None:
    row = RUNS["models"][0]
    assert keep.models([row | {"match": False}], "here")["rows"] == []
    assert len(keep.models([row], "here")["rows"]) == 1


def test_open_extents_are_kept_beside_known_ones() -> None:
    run = [
        measured("8x64x32-fp16-kk", "same", 9.0),
        measured("8x64x32-fp16-kk", "same open mnk", 10.0, symbolic="mnk"),
        measured("8x64x32-bf16-kk", "chosen", 9.0),
    ]
    (row,) = keep.open_products(run, "here")["rows"]
    assert row == {"product": "8x64x32-fp16-kk", "same": [9.0, 8.0], "same open mnk": [10.0, 9.0]}


SEQUENCE = {
    "shapes": 3,
    "seed": 5,
    "worst_first": 1.9,
    "median_first": 1.5,
    "median_reshape_us": 3.0,
    "median_launched_us": 7.0,
    "median_graph_us": 10.0,
    "worst_graph_us": 20.0,
    "grown_bytes": 0,
}
BESIDE = {"shape": [2, 64], "static_us": 10.0, "dynamic_us": 11.0, "ratio": 1.1}
OUTPUTS = {"y": {"max_abs": 0.001}, "z": {"max_abs": 0.002}}
PARTS = (("torch", 9.0, True), ("one: pair 0", 4.0, True), ("one: pair 1", 3.0, False), ("two: first 0, second 0", 5.0, True))
RUNS: dict[str, Any] = {
    "products": [
        measured("64x64x64-fp16-kk", "chosen", 9.0),
        measured("64x64x64-fp16-kk-bias", "b", 10.0),
        measured("64x64x64-fp16-kk-gelu", "g", 11.0),
        measured("4x2048x2048-bf16-kk", "chosen", 6.0),
        measured("64x64x64-fp32-kk", "chosen", 6.0),
        *({"product": f"64x64x64-{name}", "label": "cublas", "us": 12.0} for name in ("fp16-kk", "fp16-kk-gelu", "fp32-kk")),
        {"product": "4x2048x2048-bf16-kk", "label": "cublas", "us": 12.0},
    ],
    "open_products": [measured("64x64x64-fp16-kk", "same", 9.0), measured("64x64x64-fp16-kk", "same open m", 10.0, symbolic="m")],
    "gated": [{"shape": [1, 2, 3], "label": label, "us": us, "is_chosen": chosen} for label, us, chosen in PARTS],
    "models": [
        {"model": f"net.dynamo.{dtype}", "kernels": 2, "launches": 3, "latency_us": 4.0, "match": True, "outputs": OUTPUTS}
        for dtype in ("fp16", "fp32")
    ],
    "peers": [
        {"kind": "torch", "model": "net", "dtype": "fp16", "batch": 1, "ms": 0.0075},
        {"kind": "torch", "model": "net", "dtype": "fp32", "batch": 1, "error": "none"},
    ],
    "dynamic": {"model": "net", "dims": [], "open": {}, "sequences": [SEQUENCE], "rows": [BESIDE]},
    "open_vit": {"model": "net", "dims": [], "open": {}, "rows": [BESIDE]},
    "dynamic_gpt2": {"model": "net", "dims": [], "open": {}, "sequences": [SEQUENCE], "rows": []},
    "while": [
        {"kernels": 4, "condition": "apart", "programmatic": early, "copies": copies, "us": 1.0 + 2 * early + copies}
        for early in (False, True)
        for copies in (0, 1)
    ],
    "beside": [{"kind": "maxima", "stolen": 0.5, "interval_alone": 2.0, "interval_beside": 4.0}],
    "loops": [{"name": "newton", "launches": 1, "stream_us": 2.0, "graph_us": 1.0, "match": True}],
}
CELLS = {
    "beside": "| FMNMX, 8 independent | 0.50 | 2.00 | 4.00 |",
    "dynamic": "| 2×64 | 10.00 | 11.00 | 1.10 |",
    "epilogues": "| 64³ fp16 | 8.00 | 9.00, 12.5% | 10.00, 25.0% | 12.00 / 12.00 |",
    "few_rows": "| 4×2048×2048 bf16 | 6.00 / 5.00 | 1.68 | 12.00 | 2.00 / 2.40 | 2.40 |",
    "ffma": "| 64³ | 6.00 | 0.1 | 12.00 | 2.00 | 2.00 |",
    "first_calls": "| GPT-2, 3, seed 5 | 1.90 | 1.50 | 3 / 7 µs | 10 / 20 µs | 0 bytes |",
    "gated": "| 1×2×3 | 4.00 | 5.00 | 9.00 |",
    "loops": "| newton | 1 | 2.00 | 1.00 |",
    "models": "| net | 3 | 4.00 | 4.00 | 7.50 | – | 2.0e-03 | 2.0e-03 |",
    "open_products": "| 64³ fp16 | 8.00 | 1.12 | – | – | – |",
    "open_vit": "| 2×64 | 10.00 | 11.00 | 1.10 |",
    "products": "| 64³ fp16 | 9.00 / 8.00 | 12.00 | 1.33 / 1.50 | 1.50 | 128×64, 2 |",
    "summary": "| fp16, smaller | 1 | 1.50 | 1.50 | 1.000 | 1.00 |",
    "while": "| 4 | one more | 1.00 | 2.00 | 3.00 | 4.00 |",
}


@pytest.mark.parametrize("name", page.TABLES)
def test_a_run_becomes_a_table(name: str, docs: Path) -> None:
    for kind, run in RUNS.items():
        (docs / f"{kind}.json").write_text(keep.text(keep.KINDS[kind](run, "here")))
    assert CELLS[name] in page.TABLES[name]()


def test_a_file_has_a_line_for_each_row() -> None:
    found = {"where": "here", "rows": [{"a": 1}, {"a": "µ"}]}
    text = keep.text(found)
    assert json.loads(text) == found and text.count("\n") == 7


def test_names_of_products() -> None:
    assert cells.title("64x64x64-fp16-kk") == "64³ fp16"
    assert cells.title("64x32x8-fp32-kn", has_type=False) == "64×32×8, B with n last"
    assert cells.named("1x2x3-bf16-kk-gelu") == (1, 2, 3, "bf16", "kk", "gelu")


def test_schedules_in_short() -> None:
    wgmma = {"tile_m": 64, "tile_n": 32, "swaps": True, "cluster_k": 2, "early_trigger": True}
    assert cells.schedule({"family": "gemm_wgmma", "schedule": wgmma}) == "transposed, 64×32, 1, depth by 2, early"
    assert cells.schedule({"family": "gemm_skinny", "schedule": {"tile_n": 8, "loads": 4}}) == "8 columns, 4 loads"
