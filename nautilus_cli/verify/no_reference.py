"""The error of a reference that cannot be had."""

from __future__ import annotations

from nautilus_cli.errors import ModelError


class NoReference(ModelError):
    """onnxruntime is missing, or cannot load or run the model: nothing is known about the library, which may well be right."""


INSTEAD = "Outputs that are known can be compared with: nautilus verify MODEL LIB.so --inputs X.npz --golden Y.npz."
"""What helps where onnxruntime does not."""
