"""Exports of decoders whose keys and values are inputs and outputs, at a past that grows; without their weights."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent

VOCABULARY = 97
CACHES = tuple(f"{layer}.{kind}" for layer in range(2) for kind in ("key", "value"))
"""What `past.` and `present.` stand before in the names of inputs and outputs."""
