"""Verification against onnxruntime, the only package that imports it.

`check.verify` compares a library with the reference; `inputs` draws inputs that respect how the model uses them; `archive` reads and writes
.npz files; `report` is the result as data.
"""
