"""A compiled model on disk: the payload that the host code walks, the library that holds it, weights beside it, and the manifest."""
