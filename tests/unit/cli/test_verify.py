"""nautilus verify: options as driver takes them, a row for each output, exit code 6 on mismatch."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace

from nautilus_cli import driver

from .conftest import Run, comparison, compilation, failing, verification


def test_options_reach_driver(run: Run, answer) -> None:
    calls = answer("verify", verification())
    arguments = "m.onnx libm.so --inputs x.npz --seed 7 --range ids=0..30521 --rtol 1e-3 --rtol y=1e-2 --atol z=0 --save-outputs y.npz "
    arguments += "--golden g.npz --dataset data --save-inputs s.npz --device 1 --emulated --per-node --jobs 2"
    assert run("verify", *arguments.split()).code == 0
    assert calls == [
        driver.VerifyOptions(
            model=Path("m.onnx"),
            library=Path("libm.so"),
            inputs=Path("x.npz"),
            seed=7,
            ranges={"ids": (0.0, 30521.0)},
            rtol={None: 1e-3, "y": 1e-2},
            atol={"z": 0.0},
            save_outputs=Path("y.npz"),
            golden=Path("g.npz"),
            dataset=Path("data"),
            save_inputs=Path("s.npz"),
            device=1,
            place="emulated",
            per_node=True,
            jobs=2,
        )
    ]


def test_defaults_are_those_of_driver(run: Run, answer) -> None:
    calls = answer("verify", verification())
    run("verify", "m.onnx", "libm.so")
    assert calls == [driver.VerifyOptions(model=Path("m.onnx"), library=Path("libm.so"))]


def test_each_output_has_a_row(run: Run, answer) -> None:
    answer("verify", verification(logits=comparison(), boxes=failing(actual_nan=2)))
    done = run("verify", "m.onnx", "libm.so")
    assert done.code == 6
    header, logits, boxes = done.out.splitlines()
    assert header.split("  ")[0] == "output"
    assert logits.endswith("ok")
    assert boxes.endswith("FAILED: 3 beyond")
    assert "2 for 0" in boxes
    assert "1 of 2 outputs differ" in done.err
    assert "boxes." in done.err


def test_json_has_no_number_that_json_lacks(run: Run, answer) -> None:
    answer("verify", verification(y=failing(max_rel=math.inf, cosine=math.nan)))
    done = run("verify", "m.onnx", "libm.so", "--json")
    assert done.code == 6
    data = json.loads(done.out, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))
    (output,) = data["outputs"]
    assert data["match"] is False
    assert (output["name"], output["max_rel"], output["cosine"], output["failures"]) == ("y", None, None, 3)
    assert output["nan"] == {"actual": 0, "expected": 0}


def test_a_name_cannot_drive_the_terminal(run: Run, answer) -> None:
    answer("verify", verification(**{"\x1b[2Jy\n": comparison()}))
    assert "\\x1b[2Jy\\n " in run("verify", "m.onnx", "libm.so").out


def test_notes_are_shown(run: Run, answer) -> None:
    result = verification()
    result.notes = ("the output is nothing but NaN.",)
    answer("verify", result)
    assert run("verify", "m.onnx", "libm.so").err == "note: the output is nothing but NaN.\n"


def dataset() -> SimpleNamespace:
    result = verification(y=failing())
    good, bad = ({"y": comparison()}, {"y": failing()})
    names = ("a.npz", "b\x1b.npz")
    result.cases = tuple(
        SimpleNamespace(name=n, comparisons=c, is_match=m) for n, c, m in zip(names, (good, bad), (True, False), strict=True)
    )
    return result


def test_a_dataset_says_which_cases_failed(run: Run, answer) -> None:
    answer("verify", dataset())
    done = run("verify", "m.onnx", "libm.so")
    assert done.code == 6
    assert done.out.splitlines()[-1] == "2 cases against onnxruntime 1.2.3, each output's worst above; 1 failed: b\\x1b.npz"


def test_a_dataset_as_data(run: Run, answer) -> None:
    answer("verify", dataset())
    data = json.loads(run("verify", "m.onnx", "libm.so", "--json").out)
    assert [(case["name"], case["match"], case["outputs"][0]["failures"]) for case in data["cases"]] == [
        ("a.npz", True, 0),
        ("b\x1b.npz", False, 3),
    ]
    assert data["reference"] == "onnxruntime 1.2.3"


def per_node(**changes) -> SimpleNamespace:
    """A verification of two groups, of which the second has no tensor of its own."""
    groups = (
        SimpleNamespace(family="gemm", kernel="gemm_1", operators=("MatMul", "Relu"), nodes=("first", "act"), comparisons={"h": failing()}),
        SimpleNamespace(family="row", kernel="row_2", operators=("ReduceMax",), nodes=("soft",), comparisons={}),
    )
    fault = SimpleNamespace(cause="fusion", group=0, tensor="h", nodes=("first", "act"), kernel="gemm_1", text="gemm_1 is wrong.")
    return SimpleNamespace(**{**vars(verification()), "groups": groups, "groups_reference": "onnxruntime 1.2.3", "fault": fault, **changes})


def test_each_group_has_a_row(run: Run, answer) -> None:
    answer("verify", per_node())
    done = run("verify", "m.onnx", "libm.so", "--per-node")
    assert done.code == 6
    *_, columns, first, second, said = done.out.splitlines()
    assert columns.split()[:4] == ["group", "family", "operators", "ONNX"]
    assert first.split() == ["0", "gemm", "MatMul,", "Relu", "first,", "act", "h", "5.00e-01", "1.0000000", "FAILED:", "3", "beyond"]
    assert second.split() == ["1", "row", "ReduceMax", "soft", "-", "-", "-", "not", "compared"]
    assert said == "gemm_1 is wrong."
    assert done.err == "error: gemm_1 is wrong.\n"
    data = json.loads(run("verify", "m.onnx", "libm.so", "--per-node", "--json").out)
    assert data["fault"]["nodes"] == ["first", "act"]
    assert [group["kernel"] for group in data["groups"]] == ["gemm_1", "row_2"]
    assert data["groups"][0]["tensors"][0]["match"] is False


def test_groups_that_all_match(run: Run, answer) -> None:
    answer("verify", per_node(fault=None))
    done = run("verify", "m.onnx", "libm.so", "--per-node")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "every group matches onnxruntime 1.2.3"


def test_notes_on_a_verdict_are_shown_by_compile_too(run: Run, answer) -> None:
    verdict = SimpleNamespace(**{**vars(verification()), "notes": ("output 'y' is ill-conditioned.",)})
    answer("compile", compilation(verification=verdict))
    assert "note: output 'y' is ill-conditioned.\n" in run("compile", "m.onnx", "-o", "libm.so").err


def test_each_target_has_a_table(run: Run, answer) -> None:
    more = SimpleNamespace(**{**vars(verification(y=failing())), "target": "emulated"})
    answer("verify", SimpleNamespace(**{**vars(verification()), "target": "sm_90a", "more_targets": (more,)}))
    done = run("verify", "m.onnx", "libm.so")
    assert done.code == 6
    assert [line for line in done.out.splitlines() if line.startswith("on ")] == ["on sm_90a:", "on emulated:"]
    assert done.err == (
        "error: 1 of 1 outputs differ on emulated by more than the tolerance from those of onnxruntime 1.2.3: y. "
        "An element fails only if it exceeds both tolerances.\n"
    )
