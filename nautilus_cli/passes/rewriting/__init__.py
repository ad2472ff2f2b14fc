"""Nodes written in simpler ones, or in fewer: composite operators taken apart, identities removed, and rewrite rules."""
