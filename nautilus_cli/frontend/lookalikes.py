"""Files that people take for ONNX models, by their first bytes."""

from __future__ import annotations

from dataclasses import dataclass

_TORCH = "Export the model with torch.onnx.export."


@dataclass(frozen=True, slots=True)
class Lookalike:
    """A kind of file that is no ONNX model.

    Attributes:
        magic: bytes by which it is known.
        what: what it is, with its article.
        hint: how to come to an ONNX model.
        offset: where the bytes stand.
    """

    magic: bytes
    what: str
    hint: str
    offset: int = 0


LOOKALIKES = (
    Lookalike(
        b"PK\x03\x04",
        "a zip archive (a PyTorch checkpoint, a Keras model or an archive)",
        f"{_TORCH} Of an archive, extract the .onnx file.",
    ),
    Lookalike(b"\x80\x02", "a Python pickle (an old PyTorch checkpoint)", _TORCH),
    Lookalike(b"\x80\x04", "a Python pickle", _TORCH),
    Lookalike(b"\x89HDF", "an HDF5 file (a Keras model)", "Convert the model with tf2onnx."),
    Lookalike(b"\0\0TFL3", "a TensorFlow Lite model", "Convert the model with tf2onnx --tflite.", offset=2),
    Lookalike(b"\0\0ORTM", "a model in onnxruntime's own format", "Pass the .onnx file that it was made from.", offset=2),
    Lookalike(b"ftrt", "a TensorRT engine", "Pass the .onnx file that it was built from."),
    Lookalike(b"GGUF", "a GGUF file", "Export the original checkpoint to ONNX."),
    Lookalike(b"\x7fELF", "a compiled library or program", "Pass the .onnx file."),
    Lookalike(b"version https://git-lfs", "a Git LFS pointer, not the file it stands for", "Run `git lfs pull`."),
    Lookalike(b"\xfd7zXZ", "an xz-compressed file", "Decompress it first: `xz -d FILE`."),
    Lookalike(b"\x1f\x8b", "a gzip-compressed file", "Decompress it first: `gzip -d FILE`."),
    Lookalike(b"<", "an HTML or XML page", "Was it downloaded from a page instead of from the file's own address?"),
    Lookalike(b"{", "a JSON file", "Pass the model in ONNX's binary form."),
    Lookalike(b"[", "a JSON file", "Pass the model in ONNX's binary form."),
)
"""In the order in which they are tried. No ONNX model starts so: the first byte of a ModelProto is the tag of one of its fields."""


def lookalike(head: bytes) -> Lookalike | None:
    """Return what kind of file starts with HEAD, None where it may be an ONNX model."""
    return next((kind for kind in LOOKALIKES if head[kind.offset :].startswith(kind.magic)), None)


def is_text(head: bytes) -> bool:
    """Whether HEAD is printable text."""
    return bool(head) and all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in head)
