import hashlib
import json

import pytest

from nautilus_cli.artifact import manifest
from nautilus_cli.errors import FileError
from tests.support import fake_library


def build(**changes):
    variants = [fake_library.variant(b"image", **changes)]
    return describe(variants)


def describe(variants):
    tools, bindings = {"nvrtc": "13.5", "gcc": "12"}, {"sr": "16000"}
    return manifest.build(variants, model_digest=b"\1" * 32, weights_digest=b"\2" * 32, tools=tools, bindings=bindings, fp32_mode="ffma")


def test_says_what_the_library_holds():
    content = manifest.parse(build(), "here")
    assert content["schema"] == manifest.SCHEMA
    assert content["model_sha256"] == "01" * 32
    assert content["target"] == "emulated"
    assert content["inputs"][1] == {"dtype": "f32", "name": "y.1", "shape": [2, 3]}
    assert content["kernels"][0] == {
        "family": "add",
        "problem": {"elements": 6, "storage": "float"},
        "schedule": {"vector": 4},
        "smem_bytes": 1024,
        "symbol": "fake_add",
        "tensor_maps": [],
        "threads": 64,
        "weight_recipes": ["dense"],
    }
    assert [launch["nodes"] for launch in content["launches"]] == [['"); system("x'], ["add", "{{ c }}"], ["pick"], [], []]
    assert [launch["kernel"] for launch in content["launches"]] == [0, 0, 1, 2, 3]
    assert content["launches"][3]["note"] == "counters"
    assert content["launches"][0]["grid"] == [2, 1, 1]
    assert (content["arena_bytes"], content["weight_bytes"]) == (512, 512)
    assert content["bindings"] == {"sr": "16000"}
    assert content["tools"] == {"gcc": "12", "nvrtc": "13.5"}


def test_same_input_same_bytes_and_sorted_keys():
    data = build()
    assert data == build()
    assert data == (json.dumps(json.loads(data), sort_keys=True, indent=1) + "\n").encode()


def test_a_second_target_stands_under_more_targets():
    variants = [fake_library.variant(b"image"), fake_library.gpu_variant()]
    content = manifest.parse(describe(variants), "here")
    assert [t["target"] for t in content["more_targets"]] == ["sm_90a"]
    assert len(content["more_targets"][0]["launches"]) == 5


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a manifest"),
        (b"\xff\xfe", "not a manifest"),
        (b"[]", "no schema number"),
        (b'{"schema": 99}', "schema 99; this Nautilus reads schema 1"),
        (b'{"schema": 1}', "'arena_bytes' is not of type int"),
    ],
)
def test_refuses_what_is_no_manifest(data, message):
    with pytest.raises(FileError, match=message):
        manifest.parse(data, "libmodel.json")


def test_refuses_the_manifest_of_another_library(tmp_path):
    path = tmp_path / "libmodel.json"
    path.write_bytes(build())
    assert manifest.read(path, digest=hashlib.sha256(build()).hexdigest())
    with pytest.raises(FileError, match="not that of the library beside it"):
        manifest.read(path, digest="0" * 64)
    with pytest.raises(FileError, match="cannot be read"):
        manifest.read(tmp_path / "missing.json")
