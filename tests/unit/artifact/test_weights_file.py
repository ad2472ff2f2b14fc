from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from nautilus_cli.artifact import bundle, manifest
from nautilus_cli.artifact.weights_file import EXTERNAL_ABOVE_BYTES, WeightsPlace, describe, is_external, weights_path
from nautilus_cli.errors import FileError
from nautilus_cli.lowering.plan import Weight
from tests.support import fake_library


def written(tmp_path, host, *weights: Weight, weight_bytes: int = 4096):
    variant = fake_library.variant(b"image")
    if weights:
        variant = replace(variant, plan=replace(variant.plan, weights=weights, weight_bytes=weight_bytes))
    return weights_path(fake_library.write(tmp_path / "libmodel.so", host, variant, weights=WeightsPlace.EXTERNAL))


def test_the_format_s_own_reader_finds_the_weights(tmp_path, host):
    found = load_file(written(tmp_path, host))
    assert {name: array.shape for name, array in found.items()} == {"z": (3,), "padding.3": (253,), "w": (2, 3), "padding.280": (232,)}
    np.testing.assert_array_equal(found["w"], fake_library.WEIGHTS)
    assert not found["padding.3"].any()


def test_every_type_and_any_name(tmp_path, host):
    arrays = [
        np.array([True, False]),
        np.array([1.5, -2], ml_dtypes.bfloat16),
        *(np.array([1, 2], t) for t in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")),
        np.zeros((0, 4), np.float32),
        np.array(7.0, np.float32),
        np.array([1, -2], ml_dtypes.int4),  # the format has no such type
    ]
    names = ["a\nb", "\ud800", "__metadata__", "padding.2", "", '"}', "é", "a\nb"]
    weights = [
        Weight(array=array, recipe="dense", offset=256 * i, tensors=(names[i],) if i < len(names) else ()) for i, array in enumerate(arrays)
    ]
    with safe_open(written(tmp_path, host, *weights, weight_bytes=256 * 16), "np") as file:
        assert file.metadata()["producer"] == "nautilus"
        keys = set(file.keys())
    assert {"a\nb", "a\nb.1", "?", "__metadata__.1", "padding.2", "padding.2.1", "", '"}', "é", "constant.2048"} <= keys


def test_the_head_differs_where_only_the_contents_do():
    plan = fake_library.plan()
    first, second = (describe(plan, "w", weights_digest=digest) for digest in (bytes(32), b"\1" * 32))
    assert first.crc != second.crc and len(first.head) == len(second.head)
    assert len(first.head) % 256 == 0


def test_the_manifest_names_the_file(tmp_path, host):
    path = written(tmp_path, host)
    assert path.name == "libmodel.weights.safetensors"
    assert manifest.read(tmp_path / "libmodel.json")["weights_file"] == path.name
    fake_library.write(tmp_path / "libmodel.so", host, fake_library.variant(b"image"))
    assert manifest.read(tmp_path / "libmodel.json")["weights_file"] == ""
    assert not path.exists()  # what no library needs any more


def test_same_input_same_bytes(tmp_path, host):
    first = written(tmp_path, host).read_bytes(), (tmp_path / "libmodel.so").read_bytes()
    assert (written(tmp_path, host).read_bytes(), (tmp_path / "libmodel.so").read_bytes()) == first


@pytest.mark.parametrize(
    ("place", "weight_bytes", "outside"),
    [
        ("automatic", EXTERNAL_ABOVE_BYTES, False),
        ("automatic", EXTERNAL_ABOVE_BYTES + 1, True),
        ("internal", 2**33, False),
        ("external", 1, True),
        ("external", 0, False),
    ],
)
def test_where_weights_go(place, weight_bytes, outside):
    assert is_external(WeightsPlace(place), weight_bytes) is outside


def test_a_folder_in_the_way_leaves_everything(tmp_path, host):
    (tmp_path / "libmodel.weights.safetensors").mkdir()
    with pytest.raises(FileError, match=r"libmodel.weights.safetensors: the file cannot be written: it is a folder"):
        written(tmp_path, host)
    assert [path.name for path in tmp_path.iterdir()] == ["libmodel.weights.safetensors"]


def test_no_weights_no_file(tmp_path, host):
    variant = fake_library.variant(b"image")
    empty = replace(variant, plan=replace(variant.plan, weights=(), weight_bytes=0))
    path = fake_library.write(tmp_path / "libmodel.so", host, empty, weights=WeightsPlace.EXTERNAL)
    assert not weights_path(path).exists()
    assert bundle.manifest.read(tmp_path / "libmodel.json")["weights_file"] == ""
