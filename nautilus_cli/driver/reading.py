"""The model that options name, as the graph that they ask for."""

from __future__ import annotations

from nautilus_cli.driver.options import ModelOptions
from nautilus_cli.frontend.load import LoadedModel, load


def read_model(options: ModelOptions) -> LoadedModel:
    """Return the model with the shapes, bindings and outputs that are asked for.

    Raises:
        NautilusError: as `load` does.
    """
    return load(options.model, shapes=options.shapes, dims=options.dims, bindings=options.bindings, outputs=options.outputs)
