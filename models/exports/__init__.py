"""Further exports: narrow and shallow networks with the structure of real ones, from several exporters, without their weights."""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parent

KEEP_ELEMENTS = 256
"""Tensors up to this size keep their values: these networks are narrow, and theirs would fill the repository."""


def description(*, title: str, task: str, source: str, licence: str) -> str:
    """Return the model.toml of a network."""
    fields = {"title": title, "task": task, "source": f"{source}, reduced, seeded random weights", "licence": licence}
    return "".join(f"{name} = {json.dumps(text)}\n" for name, text in fields.items())
