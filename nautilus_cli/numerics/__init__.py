"""Comparison and tolerance, shared by verification, tuning and tests."""

from nautilus_cli.numerics.comparison import Comparison, compare
from nautilus_cli.numerics.tolerance import EXACT, Tolerance, derived

__all__ = ["EXACT", "Comparison", "Tolerance", "compare", "derived"]
