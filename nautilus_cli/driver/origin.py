"""The model that a library was compiled from."""

from __future__ import annotations

from pathlib import Path

from nautilus_cli.artifact import manifest
from nautilus_cli.errors import FileError
from nautilus_cli.frontend.load import LoadedModel, load
from nautilus_cli.runtime.library import Library


def origin(library: Library, model: Path) -> LoadedModel:
    """Return the model with the library's shapes and bindings, after making sure that the library was compiled from it.

    Raises:
        FileError: the manifest is missing, or the library was compiled from another model.
        NautilusError: the model cannot be loaded.
    """
    content = manifest.read(manifest.manifest_path(library.path), digest=library.info.manifest_sha256)
    shapes = {tensor.name: tensor.shape for tensor in library.inputs}
    loaded = load(model, shapes=shapes, bindings=content["bindings"])
    if loaded.sha256 != library.info.model_sha256:
        raise FileError("was compiled from another model", where=str(library.path), hint=f"Compile {model.name} again.")
    return loaded
