"""Operators of the domain com.microsoft, and those that onnxruntime adds to ONNX's own: what its optimisers leave in a model.

Source: onnxruntime 1.32, docs/ContribOperators.md, and what its CPU kernels compute where that page is silent.
"""
