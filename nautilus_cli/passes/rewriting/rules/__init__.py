"""Rewrite rules, one file each."""
