"""Operators: one file each, or one table for a uniform family, as data."""
