"""ONNX to graph: the only importer of onnx."""

from nautilus_cli.frontend.load import LoadedModel, load, load_model

__all__ = ["LoadedModel", "load", "load_model"]
