"""Small transformers: ViT, BERT and GPT-2."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto

from models.small.builder import Builder

LAYERS = 2
WIDTH = 48
HEADS = 4
HEAD_SIZE = WIDTH // HEADS
HIDDEN = 4 * WIDTH
TOKENS = 16
VOCABULARY = 97
POSITIONS = 32
CLASSES = 10


def vit(builder: Builder, batch: int) -> onnx.ModelProto:
    """Return a ViT: patches, class token, pre-norm layers with a joint projection, classifier on the class token.

    Shapes: image [batch, 3, 32, 32] to [batch, 10]; 17 tokens.
    """
    x = builder.convolution(builder.input("x", (batch, 3, 32, 32)), 3, WIDTH, 8, stride=8, padding=0)
    x = builder.transpose(builder.reshape(x, batch, WIDTH, TOKENS), 0, 2, 1)
    x = builder.node("Concat", _class_token(builder, batch), x, axis=1)
    tokens = TOKENS + 1
    x = builder.node("Add", x, builder.normal(1, tokens, WIDTH, deviation=0.5))
    for _ in range(LAYERS):
        y = builder.transpose(builder.layer_norm(x, WIDTH, 1e-6), 1, 0, 2)
        y = _joint_attention(builder, y, batch, tokens)
        x = builder.node("Add", y, x)
        x = builder.node("Add", x, _feed_forward(builder, builder.layer_norm(x, WIDTH, 1e-6)))
    x = builder.node("Gather", builder.layer_norm(x, WIDTH, 1e-6), builder.constant(0), axis=1)
    return builder.model("vit", builder.classifier(x, WIDTH, CLASSES), (batch, CLASSES))


def bert(builder: Builder, batch: int) -> onnx.ModelProto:
    """Return a BERT without its head: three embeddings, post-norm layers, padding mask.

    Shapes: ids and mask [batch, 16] of int64 to [batch, 16, 48].
    """
    ids = builder.input("ids", (batch, TOKENS), TensorProto.INT64)
    mask = builder.input("mask", (batch, TOKENS), TensorProto.INT64)
    words = builder.node("Gather", builder.normal(VOCABULARY, WIDTH, deviation=1.0), ids, axis=0)
    kinds = builder.node("Gather", builder.normal(2, WIDTH, deviation=0.5), _token_types(builder), axis=0)
    places = builder.node("Gather", builder.normal(POSITIONS, WIDTH, deviation=0.5), builder.constant([range(TOKENS)]), axis=0)
    x = builder.layer_norm(builder.node("Add", builder.node("Add", words, kinds), places), WIDTH, 1e-12)
    allowed = _padding_mask(builder, mask, batch)
    for _ in range(LAYERS):
        query, key, value = (builder.reshape(builder.linear(x, WIDTH, WIDTH), batch, TOKENS, -1, HEAD_SIZE) for _ in range(3))
        y = _attention(builder, query, key, value, batch, allowed)
        y = builder.linear(y, WIDTH, WIDTH)
        x = builder.layer_norm(builder.node("Add", y, x), WIDTH, 1e-12)
        x = builder.layer_norm(builder.node("Add", _feed_forward(builder, x), x), WIDTH, 1e-12)
    return builder.model("bert", x, (batch, TOKENS, WIDTH))


def gpt2(builder: Builder, batch: int) -> onnx.ModelProto:
    """Return a GPT-2 with its head: pre-norm layers, joint projection and Split, causal mask, GELU by tanh, logits from the embedding.

    Shapes: ids [batch, 16] of int64 to [batch, 16, 97].
    """
    ids = builder.reshape(builder.input("ids", (batch, TOKENS), TensorProto.INT64), -1, TOKENS)
    embedding = builder.generator.standard_normal((VOCABULARY, WIDTH)).astype(builder.numpy_type)
    words = builder.initializer(embedding)
    x = builder.node("Gather", words, ids, axis=0)
    x = builder.node(
        "Add", x, builder.node("Gather", builder.normal(POSITIONS, WIDTH, deviation=0.5), builder.constant([range(TOKENS)]), axis=0)
    )
    allowed = _causal_mask(builder, batch)
    for _ in range(LAYERS):
        y = _projection(builder, builder.layer_norm(x, WIDTH, 1e-5), batch, WIDTH, 3 * WIDTH)
        y = _attention(builder, *(builder.reshape(part, batch, TOKENS, -1, HEAD_SIZE) for part in _split(builder, y)), batch, allowed)
        x = builder.node("Add", _projection(builder, y, batch, WIDTH, WIDTH), x)
        y = _gelu_by_tanh(builder, _projection(builder, builder.layer_norm(x, WIDTH, 1e-5), batch, WIDTH, HIDDEN))
        x = builder.node("Add", x, _projection(builder, y, batch, HIDDEN, WIDTH))
    x = builder.reshape(builder.layer_norm(x, WIDTH, 1e-5), -1, TOKENS, WIDTH)
    # The head is the embedding transposed: one exporter writes the Transpose, the other stores it again.
    head = builder.transpose(words, 1, 0) if builder.is_dynamo else builder.initializer(embedding.T)
    return builder.model("gpt2", builder.node("MatMul", x, head), (batch, TOKENS, VOCABULARY))


def _feed_forward(builder: Builder, x: str) -> str:
    return builder.linear(builder.gelu(builder.linear(x, WIDTH, HIDDEN)), HIDDEN, WIDTH)


def _gelu_by_tanh(builder: Builder, x: str) -> str:
    """Source: Hendrycks and Gimpel, Gaussian Error Linear Units (2016), section 2."""
    half = builder.node("Mul", x, builder.scalar(0.5))
    cubic = builder.node("Mul", builder.node("Pow", x, builder.scalar(3.0)), builder.scalar(0.044715))
    inner = builder.node("Mul", builder.node("Add", x, cubic), builder.scalar((2 / np.pi) ** 0.5))
    return str(builder.node("Mul", half, builder.node("Add", builder.node("Tanh", inner), builder.scalar(1.0))))


def _projection(builder: Builder, x: str, batch: int, width: int, result: int) -> str:
    """GPT-2's Conv1D: a Gemm on the flattened tokens, weights of [in, out]."""
    weight, bias = builder.normal(width, result, deviation=width**-0.5), builder.normal(result, deviation=0.1)
    y = builder.node("Gemm", builder.reshape(x, -1, width), weight, bias, alpha=1.0, beta=1.0)
    return builder.reshape(y, batch, TOKENS, result)


def _split(builder: Builder, x: str) -> list[str]:
    if builder.is_dynamo:
        return list(builder.node("Split", x, outputs=3, axis=2, num_outputs=3))
    return list(builder.node("Split", x, builder.constant([WIDTH] * 3), outputs=3, axis=2))


def _attention(builder: Builder, query: str, key: str, value: str, batch: int, allowed: str) -> str:
    """Scaled dot-product attention of [batch, tokens, heads, head size] with a boolean mask, heads joined again.

    The scale is split between both factors, and rows that are masked as a whole give zeros instead of NaN.
    """
    query, value = builder.transpose(query, 0, 2, 1, 3), builder.transpose(value, 0, 2, 1, 3)
    if builder.is_dynamo:
        key = builder.reshape(builder.transpose(key, 0, 2, 1, 3), -1, TOKENS, HEAD_SIZE)
        key = builder.reshape(builder.transpose(key, 0, 2, 1), batch, HEADS, HEAD_SIZE, TOKENS)
    else:
        key = builder.transpose(key, 0, 2, 3, 1)
    scale = HEAD_SIZE**-0.25
    query, key = (builder.node("Mul", x, builder.scalar(scale)) for x in (query, key))
    bias = builder.node("Where", allowed, builder.constant(0.0, builder.numpy_type), builder.constant(-np.inf, builder.numpy_type))
    weights = builder.node("Softmax", builder.node("Add", builder.node("MatMul", query, key), bias), axis=-1)
    weights = builder.node("Where", builder.node("IsNaN", weights), builder.scalar(0.0), weights)
    joined = builder.transpose(builder.node("MatMul", weights, value), 0, 2, 1, 3)
    return builder.reshape(joined, batch, TOKENS, -1)


def _joint_attention(builder: Builder, x: str, batch: int, tokens: int) -> str:
    """torch.nn.MultiheadAttention of [tokens, batch, width], as exported; returns [batch, tokens, width]."""
    x = builder.linear(x, WIDTH, 3 * WIDTH)
    x = builder.node("Unsqueeze", _reshape_last(builder, x, batch, tokens), builder.constant([0]))
    x = builder.transpose(x, 3, 1, 2, 0, 4)
    x = builder.node("Squeeze", x, builder.constant([-2 if builder.is_dynamo else 3]))
    query, key, value = (
        builder.transpose(
            builder.reshape(builder.node("Gather", x, builder.constant(i), axis=0), tokens, batch * HEADS, HEAD_SIZE), 1, 0, 2
        )
        for i in range(3)
    )
    query = builder.reshape(query, batch, HEADS, tokens, HEAD_SIZE)
    value = builder.reshape(value, batch, HEADS, tokens, HEAD_SIZE)
    if builder.is_dynamo:
        key = builder.reshape(builder.transpose(key, 0, 2, 1), batch, HEADS, HEAD_SIZE, tokens)
    else:
        key = builder.transpose(builder.reshape(key, batch, HEADS, tokens, HEAD_SIZE), 0, 1, 3, 2)
    query, key = (builder.node("Mul", factor, _scale(builder, query)) for factor in (query, key))
    y = builder.node("MatMul", builder.node("Softmax", builder.node("MatMul", query, key), axis=-1), value)
    y = builder.reshape(builder.transpose(y, 2, 0, 1, 3), tokens * batch, WIDTH)
    y = builder.reshape(builder.classifier(y, WIDTH, WIDTH), tokens, batch, WIDTH)
    return builder.transpose(y, 1, 0, 2)


def _reshape_last(builder: Builder, x: str, batch: int, tokens: int) -> str:
    """[tokens, batch, 3 · width] to [tokens, batch, 3, width]; the older exporter computes the shape from the tensor's own."""
    if builder.is_dynamo:
        return builder.reshape(x, tokens, batch, 3, WIDTH)
    axis = builder.node("Mod", builder.constant([2]), builder.constant([3]))
    shape = builder.node("Shape", x)
    before = builder.node("Slice", shape, builder.constant([0]), builder.node("Reshape", axis, builder.constant([1])))
    next_axis = builder.node("Reshape", builder.node("Add", axis, builder.constant([1])), builder.constant([1]))
    after = builder.node("Slice", shape, next_axis, builder.constant([np.iinfo(np.int64).max]))
    return str(builder.node("Reshape", x, builder.node("Concat", before, builder.constant([3, WIDTH]), after, axis=0)))


def _scale(builder: Builder, query: str) -> str:
    """The root of 1 / sqrt(head size); the older exporter computes it from the tensor's shape."""
    if builder.is_dynamo:
        return builder.constant([HEAD_SIZE**-0.25], builder.numpy_type)
    size = builder.node("Slice", builder.node("Shape", query), builder.constant([-1]), builder.constant([np.iinfo(np.int64).max]))
    root = builder.node("Sqrt", builder.node("Cast", size, to=builder.onnx_type))
    inverse = builder.node("Div", builder.constant([1.0], builder.numpy_type), root)
    return str(builder.node("Sqrt", builder.node("Cast", inverse, to=builder.onnx_type)))


def _class_token(builder: Builder, batch: int) -> str:
    """One learned token for each image of the batch."""
    values = builder.generator.standard_normal((1, 1, WIDTH)).astype(builder.numpy_type)
    if builder.is_dynamo:
        return builder.initializer(np.repeat(values, batch, axis=0))
    return _expand(builder, builder.initializer(values), [batch, -1, -1])


def _expand(builder: Builder, x: str, shape: list[int]) -> str:
    """The expand of torch, as the older exporter writes it: -1 becomes 1 by comparison at run time."""
    ones = builder.node("ConstantOfShape", builder.constant([len(shape)]), value=onnx.numpy_helper.from_array(np.array([1], np.int64)))
    minus_ones = builder.node("Mul", ones, builder.constant(-1))
    wanted = builder.constant(shape)
    return str(builder.node("Expand", x, builder.node("Where", builder.node("Equal", wanted, minus_ones), ones, wanted)))


def _token_types(builder: Builder) -> str:
    """All zeros, gathered from a longer buffer by position."""
    buffer = builder.constant(np.zeros((1, POSITIONS)))
    if not builder.is_dynamo:
        buffer = _expand(builder, buffer, [1, -1])
    return str(builder.node("GatherElements", buffer, builder.constant([range(TOKENS)]), axis=1))


def _true(builder: Builder) -> str:
    """A boolean scalar that is true."""
    if builder.is_dynamo:
        return builder.constant(True, np.bool_)
    value = onnx.numpy_helper.from_array(np.array([True]))
    return str(builder.node("ConstantOfShape", builder.constant(np.zeros(0)), value=value))


def _padding_mask(builder: Builder, mask: str, batch: int) -> str:
    """[batch, 1, tokens, tokens]: which keys a query sees, from the integer mask, by the index arithmetic that both exporters leave."""
    seen = builder.node("Cast", mask, to=TensorProto.BOOL)
    if builder.is_dynamo:
        rows, columns = np.meshgrid(np.arange(batch), np.arange(TOKENS), indexing="ij")
        indices = builder.constant(np.stack([rows, columns], axis=-1).reshape(batch, 1, 1, TOKENS, 2))
        all_queries = builder.constant(np.ones((1, 1, TOKENS, 1)), np.bool_)
        return str(builder.node("And", all_queries, builder.node("GatherND", seen, indices, batch_dims=0)))
    queries = builder.node("GreaterOrEqual", builder.constant(np.arange(TOKENS).reshape(1, 1, TOKENS, 1)), builder.constant(0))
    all_queries = builder.node("And", _true(builder), builder.node("Cast", queries, to=TensorProto.BOOL))
    stride = builder.node("Gather", builder.node("Shape", seen), builder.constant([1]), axis=0)
    offset = builder.node("Mul", builder.constant(np.arange(batch).reshape(batch, 1, 1, 1)), stride)
    index = builder.node("Add", builder.constant(np.arange(TOKENS).reshape(1, 1, 1, TOKENS)), offset)
    shape = builder.node("Concat", builder.node("Shape", index), axis=0)
    both = builder.node("And", all_queries, _keys_by_index(builder, seen, index, shape))
    return _expand(builder, both, [batch, -1, TOKENS, TOKENS])


def _keys_by_index(builder: Builder, mask: str, index: str, shape: str) -> str:
    """A mask of [batch, tokens] as booleans of INDEX's shape: flattened and gathered, as the older exporter writes advanced indexing."""
    gathered = builder.node("Gather", builder.node("Flatten", mask, axis=2), index, axis=0)
    gathered = builder.node("Reshape", builder.node("Reshape", gathered, builder.constant([-1])), shape)
    return str(builder.node("Cast", gathered, to=TensorProto.BOOL))


def _causal_mask(builder: Builder, batch: int) -> str:
    """[1 or batch, 1, tokens, tokens]: each query sees itself and what is before it, by comparison of positions."""
    if builder.is_dynamo:
        lower = builder.constant(np.tril(np.ones((1, 1, TOKENS, TOKENS))), np.bool_)
        every = builder.constant(np.ones((1, 1, 1, TOKENS)), np.bool_)
        return str(builder.node("And", builder.node("And", _true(builder), lower), every))
    keys, queries = builder.constant(np.arange(TOKENS).reshape(1, 1, 1, -1)), builder.constant(np.arange(TOKENS).reshape(1, 1, -1, 1))
    before = builder.node("And", _true(builder), builder.node("Cast", builder.node("LessOrEqual", keys, queries), to=TensorProto.BOOL))
    index = builder.constant(np.arange(batch * TOKENS).reshape(batch, 1, 1, TOKENS))
    shape = builder.constant([batch, 1, 1, TOKENS])
    every = _keys_by_index(builder, builder.constant(np.ones((batch, TOKENS))), index, shape)
    return _expand(builder, builder.node("And", before, every), [batch, -1, TOKENS, TOKENS])
