"""External data: mapped, and only from inside the model's folder."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto

from nautilus_cli.errors import FileError, ModelError, NautilusError
from nautilus_cli.frontend import load
from tests.unit.frontend.models import model, node, output, saved, tensor_input, told

WEIGHT = np.arange(6, dtype=np.float32).reshape(2, 3)


def external_model(**entries: object) -> ModelProto:
    """A model whose initializer w is external, with these entries."""
    proto = model([node("Add", ["x", "w"], ["y"])], [tensor_input("x", 2, 3)], [output("y")], {"w": WEIGHT})
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=str(value))
    return proto


def weight_of(path: Path) -> np.ndarray:
    array = load(path).graph.nodes[0].inputs[1].constant  # type: ignore[union-attr]
    assert array is not None
    return array


def refused(path: Path, kind: type[NautilusError] = ModelError) -> str:
    with pytest.raises(kind) as caught:
        load(path)
    return told(caught.value)


def test_data_is_read_where_onnx_wrote_it(tmp_path: Path) -> None:
    proto = model([node("Add", ["x", "w"], ["y"])], [tensor_input("x", 2, 3)], [output("y")], {"w": WEIGHT})
    path = tmp_path / "model.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="model.data", size_threshold=0)
    np.testing.assert_array_equal(weight_of(path), WEIGHT)


@pytest.mark.parametrize("offset", [0, 3, 4096])
def test_data_at_any_offset(tmp_path: Path, offset: int) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(offset) + WEIGHT.tobytes() + b"tail")
    array = weight_of(saved(external_model(location="w.bin", offset=offset, length=WEIGHT.nbytes), tmp_path))
    np.testing.assert_array_equal(array, WEIGHT)
    assert array.flags.aligned
    assert not array.flags.writeable


def test_data_in_a_folder_below(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.bin").write_bytes(WEIGHT.tobytes())
    np.testing.assert_array_equal(weight_of(saved(external_model(location="data/w.bin"), tmp_path)), WEIGHT)


def test_hash_covers_external_data(tmp_path: Path) -> None:
    data = tmp_path / "w.bin"
    hashes = []
    for contents in (WEIGHT, WEIGHT + 1, WEIGHT):
        data.write_bytes(contents.tobytes())
        hashes.append(load(saved(external_model(location="w.bin"), tmp_path)).sha256)
    assert hashes[0] == hashes[2] != hashes[1]


def outside(tmp_path: Path) -> tuple[Path, Path]:
    """A folder for the model, and a file beside that folder."""
    folder = tmp_path / "model"
    folder.mkdir()
    secret = tmp_path / "secret"
    secret.write_bytes(WEIGHT.tobytes())
    return folder, secret


def test_path_that_leaves_the_folder(tmp_path: Path) -> None:
    folder, _ = outside(tmp_path)
    for location in ("../secret", "data/../../secret", "."):
        assert "lies outside the model's folder" in refused(saved(external_model(location=location), folder))


def test_absolute_path(tmp_path: Path) -> None:
    folder, secret = outside(tmp_path)
    for location in (str(secret), "/etc/passwd", ""):
        message = refused(saved(external_model(location=location), folder))
        assert "Allowed is a relative path inside the model's folder." in message
        assert "initializer 'w': " in message


def test_link_that_leaves_the_folder(tmp_path: Path) -> None:
    folder, secret = outside(tmp_path)
    (folder / "w.bin").symlink_to(secret)
    (folder / "up").symlink_to(tmp_path)
    for location in ("w.bin", "up/secret"):
        assert "Links that leave the folder count too" in refused(saved(external_model(location=location), folder))


def test_link_within_the_folder(tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(WEIGHT.tobytes())
    (tmp_path / "w.bin").symlink_to("blob")
    np.testing.assert_array_equal(weight_of(saved(external_model(location="w.bin"), tmp_path)), WEIGHT)


def hugging_face(tmp_path: Path) -> Path:
    """A cache as that of Hugging Face: what users open are links to files that are called by their hashes, all in one folder."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "main" / "onnx"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    saved(external_model(location="model.onnx_data"), blobs).rename(blobs / "aaa")
    (blobs / "bbb").write_bytes(WEIGHT.tobytes())
    (snapshot / "model.onnx").symlink_to("../../../blobs/aaa")
    (snapshot / "model.onnx_data").symlink_to("../../../blobs/bbb")
    return snapshot / "model.onnx"


def test_links_beside_a_model_that_is_a_link_itself(tmp_path: Path) -> None:
    np.testing.assert_array_equal(weight_of(hugging_face(tmp_path)), WEIGHT)


def test_links_that_leave_the_folder_of_a_model_that_is_a_link(tmp_path: Path) -> None:
    path = hugging_face(tmp_path)
    secret = tmp_path / "secret"
    secret.write_bytes(WEIGHT.tobytes())
    path.with_name("model.onnx_data").unlink()
    path.with_name("model.onnx_data").symlink_to(secret)
    assert "lies outside the model's folder" in refused(path)


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    refused(saved(external_model(location="a"), tmp_path), NautilusError)


def test_missing_file(tmp_path: Path) -> None:
    message = refused(saved(external_model(location="w.bin"), tmp_path), FileError)
    assert message == "initializer 'w': its external data 'w.bin' is missing | Put the file beside the model."


def test_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "w.bin")
    assert "is not a regular file" in refused(saved(external_model(location="w.bin"), tmp_path), FileError)


def test_folder_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "w.bin").mkdir()
    assert "is not a regular file" in refused(saved(external_model(location="w.bin"), tmp_path), FileError)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"length": 20}, "has 20 bytes; its type and shape need 24"),
        ({"offset": 4}, "ends at byte 28, but 'w.bin' has 24 bytes"),
        ({"offset": 10**18}, f"ends at byte {10**18 + 24}"),
        ({"offset": -4}, "has the offset '-4' | Allowed is a count of bytes."),
        ({"offset": "1e3"}, "has the offset '1e3'"),
        ({"length": "9" * 5000}, "has the length '9999"),
    ],
)
def test_range_that_does_not_fit(tmp_path: Path, entries: dict[str, object], message: str) -> None:
    (tmp_path / "w.bin").write_bytes(WEIGHT.tobytes())
    assert message in refused(saved(external_model(location="w.bin", **entries), tmp_path))


def test_empty_file(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(b"")
    assert "ends at byte 24, but 'w.bin' has 0 bytes" in refused(saved(external_model(location="w.bin"), tmp_path))


def test_model_that_is_no_file() -> None:
    from tests.unit.frontend.models import imported

    with pytest.raises(ModelError, match="its data is external, but the model does not come from a file"):
        imported(external_model(location="w.bin"))
