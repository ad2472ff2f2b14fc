"""Compilers and their cache; the only package that calls them."""
