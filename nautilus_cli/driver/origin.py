"""The model that a library was compiled from."""

from __future__ import annotations

from pathlib import Path

from nautilus_cli.artifact import manifest
from nautilus_cli.errors import FileError, UsageError
from nautilus_cli.frontend.cut import cut_file
from nautilus_cli.frontend.load import LoadedModel, load
from nautilus_cli.runtime.library import Library


def origin(library: Library, model: Path) -> LoadedModel:
    """Return the model with the library's shapes, bindings and outputs, after making sure that the library was compiled from it.

    Raises:
        FileError: the manifest is missing, or the library was compiled from another model.
        NautilusError: the model cannot be loaded.
    """
    content = manifest.read(manifest.manifest_path(library.path), digest=library.info.manifest_sha256)
    if library.dimensions:
        names = ", ".join(dimension.name for dimension in library.dimensions)
        raise UsageError(f"leaves dimensions open ({names}), which this command does not support yet", where=str(library.path))
    shapes = {tensor.name: tensor.shape for tensor in library.inputs}
    outputs = tuple(tensor.name for tensor in library.outputs)
    try:
        loaded = load(model, shapes=shapes, bindings=content["bindings"], outputs=outputs)
    except UsageError as error:  # what the user gave to compile does not fit this model
        raise FileError(
            f"was compiled from another model: {error}", where=str(library.path), hint=f"Compile {model.name} again."
        ) from error
    if loaded.sha256 != library.info.model_sha256:
        raise FileError("was compiled from another model", where=str(library.path), hint=f"Compile {model.name} again.")
    return loaded


def reference_model(library: Library, model: Path, loaded: LoadedModel) -> Path | bytes:
    """Return what a reference runs: the model file, or where the library has other outputs, its bytes with these."""
    return cut_file(model, [tensor.name for tensor in library.outputs]) if loaded.is_cut else model
