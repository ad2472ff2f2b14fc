"""Operators that work on subgraphs, sequences and optional values: they are gone once a model is imported."""
