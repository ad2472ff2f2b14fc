"""The random nodes: one function a kind, and how often each is drawn."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd, prod

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BOOL, F16, F32, F64, I8, I32, I64, U8
from nautilus_cli.ops.element_types import ONNX_NUMBERS
from tests.support.random_graphs.drawing import MOST_PRODUCTS, Drawing, RejectedError

_ROUND = ("Relu", "Neg", "Abs", "Sign", "Floor", "Ceil", "Round", "Identity")
_SMOOTH_NAMES = "Sigmoid Tanh Erf Gelu HardSwish Softplus Softsign Mish Swish Elu Selu Celu Sin Cos Exp Atan"
_SMOOTH = tuple(_SMOOTH_NAMES.split())
_NORMALISATIONS = (
    *("LayerNormalization", "LayerNormalization", "RMSNormalization"),
    *("InstanceNormalization", "GroupNormalization", "LRN", "LpNormalization"),
)
_PARTIAL = ("Sqrt", "Log", "Reciprocal", "Asin", "Acosh", "Sinh")


def unary(d: Drawing) -> None:
    """One operand."""
    op = d.choose(_ROUND if d.is_exact or d.chance(0.4) else _SMOOTH if d.chance(0.85) else _PARTIAL)
    d.apply(op, [d.pick_float()])


def attributed(d: Drawing) -> None:
    """One operand, and numbers of the node's own."""
    x = d.pick_float()
    op = d.choose(["LeakyRelu", "HardSigmoid", "ThresholdedRelu", "Shrink"])
    numbers = {"LeakyRelu": {"alpha": 0.5}, "HardSigmoid": {"alpha": 0.25, "beta": 0.5}, "ThresholdedRelu": {"alpha": 0.75}}
    d.apply(op, [x], **numbers.get(op, {"bias": 0.5, "lambd": 1.0}))


def clip(d: Drawing) -> None:
    """Limits may be left out, constants or inputs."""
    x = d.pick(lambda v: v.type.dtype.is_float or v.type.dtype in (I32, I64))
    low = None if d.chance(0.3) else d.add_constant(np.array(-2).astype(x.type.dtype.numpy)) if d.chance(0.7) else d.like((), x.type.dtype)
    high = None if d.chance(0.3) else d.add_constant(np.array(2).astype(x.type.dtype.numpy)) if d.chance(0.7) else d.like((), x.type.dtype)
    d.apply("Clip", [x, low, high])


def binary(d: Drawing) -> None:
    """Two operands that broadcast."""
    x = d.pick(lambda v: v.type.dtype != BOOL)
    op = d.choose(["Add", "Add", "Add", "Mul", "Mul", "Sub", "Div", "Max", "Min"])
    y = d.broadcasting(x.type.static, x.type.dtype)
    d.apply(op, [x, y] if d.chance(0.6) else [y, x])


def grow(d: Drawing) -> None:
    """Two operands neither of which has the shape of the result."""
    shape = d.shape(1, 4)
    dtype = d.float_ if d.chance(0.8) else I64
    x = d.like(tuple(1 if d.chance(0.4) else n for n in shape), dtype, constant=0.15)
    d.apply(d.choose(["Add", "Mul", "Sub"]), [x, d.broadcasting(shape, dtype)])


def special_binary(d: Drawing) -> None:
    """Rarer functions of two operands."""
    op = d.choose(["Mod", "PRelu", "Pow", "BitShift", "BitwiseAnd", "BitwiseXor"])
    if op.startswith("Bit"):
        x = d.pick(lambda v: v.type.dtype in ((U8,) if op == "BitShift" else (I8, I32, I64, U8)))
        y = d.broadcasting(x.type.static, x.type.dtype)
        d.apply(op, [x, y], **({"direction": d.choose(["LEFT", "RIGHT"])} if op == "BitShift" else {}))
        return
    if op == "Mod":
        x = d.pick(lambda v: v.type.dtype in (I32, I64) or (v.type.dtype.is_float and d.is_exact))
        d.apply("Mod", [x, d.add_constant(np.array(d.choose([2, 3, -3, 5])).astype(x.type.dtype.numpy))], fmod=int(x.type.dtype.is_float))
        return
    x = d.pick_float()
    if op == "Pow":
        exponent = d.choose([2.0, 3.0, 0.5]) if d.chance(0.8) else 2
        d.apply("Pow", [x, d.add_constant(np.array(exponent, d.choose([np.float32, x.type.dtype.numpy])))])
        return
    d.apply("PRelu", [x, d.broadcasting(x.type.static, x.type.dtype)])


def variadic(d: Drawing) -> None:
    """Three operands or so."""
    x = d.pick_float()
    others = [d.broadcasting(x.type.static, x.type.dtype) for _ in range(d.integer(0, 3))]
    d.apply(d.choose(["Sum", "Max", "Min", "Mean"]), [x, *others])


def compare(d: Drawing) -> None:
    """To a boolean."""
    if d.chance(0.3):
        d.apply(d.choose(["IsNaN", "IsInf"]), [d.pick(lambda v: v.type.dtype in (F16, F32, F64))])
        return
    x = d.pick(lambda v: v.type.dtype != BOOL)
    d.apply(d.choose(["Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"]), [x, d.broadcasting(x.type.static, x.type.dtype)])


def logic(d: Drawing) -> None:
    """Of booleans."""
    x = d.pick(lambda v: v.type.dtype == BOOL)
    op = d.choose(["And", "Or", "Xor", "Not"])
    d.apply(op, [x] if op == "Not" else [x, d.broadcasting(x.type.static, BOOL)])


def where(d: Drawing) -> None:
    """A choice, or the guard that torch puts around a softmax."""
    x = d.pick()
    if d.chance(0.4) and x.type.dtype.is_float:
        d.apply("Where", [d.apply("IsNaN", [x]), d.add_constant(np.array(0, x.type.dtype.numpy)), x])
        return
    condition = d.broadcasting(x.type.static, BOOL)
    y = d.broadcasting(x.type.static, x.type.dtype)
    d.apply("Where", [condition, x, y] if d.chance(0.5) else [condition, y, x])


def cast(d: Drawing) -> None:
    """To another type: floating point to integer only where it is in range."""
    x = d.pick()
    to = d.choose([F32, F16, d.float_, d.float_, I64, I32, BOOL, I8, U8, F64])
    if x.type.dtype.is_float and to.kind in ("int", "uint"):
        array = d.truth[x].astype(np.float64)
        low, high = np.iinfo(to.numpy).min, np.iinfo(to.numpy).max
        if not np.isfinite(array).all() or (array.size and (array.min() < low or array.max() > high)):
            raise RejectedError("out of range")
    d.apply("Cast", [x], to=ONNX_NUMBERS[to])


def transpose(d: Drawing) -> None:
    """Any permutation."""
    x = d.pick(lambda v: len(v.type.shape) > 1)
    d.apply("Transpose", [x], perm=tuple(int(i) for i in d.random.permutation(len(x.type.shape))))


def reshape(d: Drawing) -> None:
    """Reshape and its relatives."""
    x = d.pick()
    rank = len(x.type.shape)
    kind = d.choose(["Reshape", "Reshape", "Flatten", "Squeeze", "Unsqueeze"])
    if kind == "Reshape":
        shape = d.factors(x.type.elements, d.integer(0 if x.type.elements == 1 else 1, 5))
        d.apply("Reshape", [x, d.numbers(*shape)], allowzero=1)
    elif kind == "Flatten":
        d.apply("Flatten", [x], axis=d.integer(0, rank))
    elif kind == "Squeeze":
        ones = [i for i, n in enumerate(x.type.static) if n == 1]
        d.apply("Squeeze", [x, d.numbers(*[i for i in ones if d.chance(0.7)] or ones[:1])])
    elif rank < 5:
        d.apply("Unsqueeze", [x, d.numbers(*sorted({d.integer(0, rank) for _ in range(d.integer(1, 2))}))])


def slice_(d: Drawing) -> None:
    """Any start, end and step."""
    x = d.pick(lambda v: len(v.type.shape) > 0)
    axes = [i for i in range(len(x.type.shape)) if d.chance(0.6)] or [0]
    starts, ends, steps = [], [], []
    for axis in axes:
        size = x.type.static[axis]
        step = d.choose([1, 1, 1, 2, 3, -1, -1, -2])
        first, last = d.integer(0, max(0, size - 1)), d.integer(0, max(0, size - 1))
        low, high = min(first, last), max(first, last)
        if d.chance(0.3):
            low, high = 0, size - 1
        starts.append(low if step > 0 else high)
        ends.append(high + 1 if step > 0 else (low - 1 if low > 0 else -(2**60)))
        steps.append(step)
    d.apply("Slice", [x, d.numbers(*starts), d.numbers(*ends), d.numbers(*axes), d.numbers(*steps)])


def concat(d: Drawing) -> None:
    """Two to four operands."""
    x = d.pick(lambda v: len(v.type.shape) > 0)
    axis = d.integer(0, len(x.type.shape) - 1)
    parts = [x]
    for _ in range(d.integer(1, 3)):
        shape = list(x.type.static)
        if d.chance(0.6):
            shape[axis] = d.integer(1, 5)
        parts.append(x if d.chance(0.15) else d.like(tuple(shape), x.type.dtype, constant=0.3))
    d.random.shuffle(parts)  # type: ignore[arg-type]
    d.apply("Concat", parts, axis=axis - (len(x.type.shape) if d.chance(0.3) else 0))


def pad(d: Drawing) -> None:
    """Every mode; amounts may crop."""
    x = d.pick(lambda v: 0 < len(v.type.shape) <= 4 and v.type.elements > 0)
    mode = d.choose(["constant", "constant", "constant", "reflect", "edge", "wrap"])
    amounts = []
    for size in (*x.type.static, *x.type.static):
        most = size - 1 if mode == "reflect" else 3
        amounts.append(d.integer(-1 if mode == "constant" and size > 3 else 0, min(most, 3)) if d.chance(0.5) else 0)
    fill = None
    if mode == "constant" and d.chance(0.6):
        fill = d.like((), x.type.dtype, constant=0.6)
    d.apply("Pad", [x, d.numbers(*amounts), fill], mode=mode)


def split(d: Drawing) -> None:
    """Even or not; some results are not read."""
    x = d.pick(lambda v: any(n > 1 for n in v.type.static))
    axis = d.choose([i for i, n in enumerate(x.type.static) if n > 1])
    size = x.type.static[axis]
    parts = d.integer(2, min(4, size))
    cuts = sorted(int(c) for c in d.random.choice(np.arange(1, size), parts - 1, replace=False))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
    d.apply_all("Split", [x, d.numbers(*sizes)], outputs=parts, axis=axis)


def repeat(d: Drawing) -> None:
    """Expand and Tile."""
    x = d.pick(lambda v: len(v.type.shape) < 5 and v.type.elements < 500)
    shape = x.type.static
    if d.chance(0.6):
        target = tuple(d.integer(2, 5) if n == 1 and d.chance(0.7) else n for n in shape)
        if d.chance(0.3):
            target = (d.integer(1, 3), *target)
        d.apply("Expand", [x, d.numbers(*target)])
    elif shape:
        d.apply("Tile", [x, d.numbers(*[d.choose([1, 1, 2, 3]) for _ in shape])])


def blocks(d: Drawing) -> None:
    """DepthToSpace and SpaceToDepth."""
    x = d.ranked(4, 4)
    size = 2
    if d.chance(0.5):
        d.apply("DepthToSpace", [x], blocksize=size, mode=d.choose(["DCR", "CRD"]))
    else:
        d.apply("SpaceToDepth", [x], blocksize=size)


def trilu(d: Drawing) -> None:
    """A triangle."""
    x = d.pick(lambda v: len(v.type.shape) > 1)
    d.apply("Trilu", [x, d.numbers(d.integer(-2, 2)) if d.chance(0.0) else None], upper=d.integer(0, 1))


def reduce_(d: Drawing) -> None:
    """Any reduction over any axes."""
    op = d.choose(["ReduceSum", "ReduceSum", "ReduceMean", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2"])
    if not d.is_exact and d.chance(0.2):
        op = d.choose(["ReduceLogSumExp", "ReduceSumSquare"])
    types = {"ReduceMax": (I32, I64, BOOL, U8), "ReduceMin": (I32, I64, BOOL, U8)}.get(op, (I32, I64))
    x = d.pick(lambda v: v.type.dtype.is_float or v.type.dtype in types)
    if op in ("ReduceMean", "ReduceMax", "ReduceMin") and x.type.elements == 0:
        raise RejectedError("nothing to reduce")
    rank = len(x.type.shape)
    axes = [i for i in range(rank) if d.chance(0.5)]
    given = [i - rank if d.chance(0.3) else i for i in axes]
    noop = int(d.chance(0.2))
    d.apply(op, [x, d.numbers(*given) if given or d.chance(0.5) else None], keepdims=d.integer(0, 1), noop_with_empty_axes=noop)


def softmax(d: Drawing) -> None:
    """Over any axis, with a mask before it now and then."""
    x = d.pick(lambda v: v.type.dtype.is_float and len(v.type.shape) > 0)
    if d.chance(0.4):
        x = d.apply("Add", [x, d.broadcasting(x.type.static, x.type.dtype)])
    rank = len(x.type.shape)
    axis = -1 if d.chance(0.5) else d.integer(-rank, rank - 1)
    y = d.apply(d.choose(["Softmax", "Softmax", "LogSoftmax"]), [x], axis=axis)
    if d.chance(0.3):
        d.apply("Where", [d.apply("IsNaN", [y]), d.add_constant(np.array(0, y.type.dtype.numpy)), y])


def normalise(d: Drawing) -> None:
    """Layer, RMS, instance, group and local response normalisation."""
    op = d.choose(_NORMALISATIONS)
    if op in ("LayerNormalization", "RMSNormalization"):
        x = d.pick(lambda v: v.type.dtype.is_float and len(v.type.shape) > 0)
        axis = d.integer(0, len(x.type.shape) - 1)
        kept = x.type.static[axis:]
        scale = d.like(kept, x.type.dtype, constant=0.8)
        bias = [] if op == "RMSNormalization" or d.chance(0.3) else [d.like(kept, x.type.dtype, constant=0.8)]
        outputs = 3 if op == "LayerNormalization" and d.chance(0.2) else 1
        d.apply_all(op, [x, scale, *bias], outputs=outputs, axis=axis - (len(x.type.shape) if d.chance(0.5) else 0))
        return
    if op == "LpNormalization":
        x = d.pick(lambda v: v.type.dtype.is_float and len(v.type.shape) > 0)
        d.apply(op, [x], axis=d.integer(0, len(x.type.shape) - 1), p=d.integer(1, 2))
        return
    x = d.ranked(3, 4)
    channels = x.type.static[1]
    if op == "LRN":
        d.apply(op, [x], size=d.choose([1, 3, 5]))
        return
    scale, bias = (d.like((channels,), x.type.dtype, constant=0.8) for _ in range(2))
    if op == "InstanceNormalization":
        d.apply(op, [x, scale, bias])
        return
    groups = d.choose([g for g in range(1, channels + 1) if channels % g == 0])
    d.apply(op, [x, scale, bias], num_groups=groups)


def batch_normalise(d: Drawing) -> None:
    """With constant statistics, or computed ones."""
    if d.has_specials or d.is_exact:
        raise RejectedError("scale and bias are rearranged, which gives other NaNs and roundings")
    x = d.ranked(3, 4)
    shape = (x.type.static[1],)
    scale, bias, mean = (d.like(shape, x.type.dtype, constant=0.85) for _ in range(3))
    variance = d.add_constant((np.abs(d.array(shape, x.type.dtype).astype(np.float64)) + 0.5).astype(x.type.dtype.numpy))
    d.apply("BatchNormalization", [x, scale, bias, mean, variance])


def matmul(d: Drawing) -> None:
    """Batched, with constant or other operands on either side."""
    x = d.pick(lambda v: (v.type.dtype.is_float or v.type.dtype in (I32, I64)) and len(v.type.shape) > 0 and v.type.elements > 0)
    shape = x.type.static
    k = shape[-1] if len(shape) == 1 or d.chance(0.7) else shape[-2]
    on_left = len(shape) == 1 or k == shape[-1]
    n = d.choose([1, 2, 3, 4, 5, 8, 16, 17])
    batch = shape[:-2]
    if d.chance(0.5):
        batch = ()
    elif batch and d.chance(0.3):
        batch = tuple(1 if d.chance(0.5) else b for b in batch)
    elif len(batch) < 2 and d.chance(0.3):
        batch = (d.integer(1, 3), *batch)
    if prod(shape) * n * max(1, prod(batch)) > MOST_PRODUCTS:
        raise RejectedError("too large")
    if d.chance(0.08):
        other: Value = d.like((k,), x.type.dtype)
    elif d.chance(0.35):
        turned = d.like((*batch, n, k) if on_left else (*batch, k, n), x.type.dtype, constant=0.3)
        rank = len(turned.type.shape)
        other = d.apply("Transpose", [turned], perm=(*range(rank - 2), rank - 1, rank - 2))
    else:
        other = d.like((*batch, k, n) if on_left else (*batch, n, k), x.type.dtype, constant=0.5)
    y = d.apply("MatMul", [x, other] if on_left else [other, x])
    if d.chance(0.4):
        y = d.apply("Add", [y, d.broadcasting(y.type.static, y.type.dtype)])
    if d.chance(0.3) and y.type.dtype.is_float:
        d.apply("Relu", [y])


def attention(d: Drawing) -> None:
    """Heads split from a projection, scores, softmax, and back."""
    batch, length, heads, width = d.integer(1, 2), d.choose([3, 4, 7, 8]), d.integer(1, 3), d.choose([2, 4, 5])
    x = d.like((batch, length, heads * width), d.float_, constant=0.0)
    q, k, v = (d.like((batch, length, heads * width), d.float_, constant=0.1) for _ in range(3)) if d.chance(0.5) else (x, x, x)

    def split_heads(value: Value, *perm: int) -> Value:
        return d.apply("Transpose", [d.apply("Reshape", [value, d.numbers(batch, length, heads, width)])], perm=perm)

    scores = d.apply("MatMul", [split_heads(q, 0, 2, 1, 3), split_heads(k, 0, 2, 3, 1)])
    if d.chance(0.7):
        scores = d.apply("Mul", [scores, d.add_constant(np.array(0.5, d.float_.numpy))])
    if d.chance(0.5):
        scores = d.apply("Add", [scores, d.broadcasting(scores.type.static, d.float_)])
    if not d.is_exact:
        scores = d.apply("Softmax", [scores], axis=-1)
    mixed = d.apply("Transpose", [d.apply("MatMul", [scores, split_heads(v, 0, 2, 1, 3)])], perm=(0, 2, 1, 3))
    d.apply("Reshape", [mixed, d.numbers(batch, length, heads * width)])


def gemm(d: Drawing) -> None:
    """With every transposition and a bias that broadcasts."""
    a = d.ranked(2, 2)
    m, k = a.type.static
    transposed_a = d.chance(0.3)
    if transposed_a:
        m, k = k, m
    n = d.choose([1, 2, 3, 5, 8, 16, 17])
    transposed_b = d.chance(0.5)
    if m * n * k > MOST_PRODUCTS:
        raise RejectedError("too large")
    b = d.like((n, k) if transposed_b else (k, n), a.type.dtype, constant=0.6)
    c = [d.broadcasting((m, n), a.type.dtype)] if d.chance(0.7) else []
    numbers = {"alpha": d.choose([1.0, 1.0, 0.5]), "beta": d.choose([1.0, 1.0, 2.0, 0.0])}
    d.apply("Gemm", [a, b, *c], transA=int(transposed_a), transB=int(transposed_b), **numbers)


def _window(d: Drawing, space: tuple[int, ...], *, most_pad: int | None = None) -> tuple[tuple[int, ...], dict[str, object]]:
    kernel = tuple(d.integer(1, min(n, 3 if d.chance(0.8) else 5)) if n else 1 for n in space)
    if d.chance(0.25):
        kernel = (1,) * len(space)
    found: dict[str, object] = {}
    dilations = tuple(d.choose([1, 1, 2]) if (k - 1) * 2 < n else 1 for k, n in zip(kernel, space, strict=True))
    if d.chance(0.4):
        found["dilations"] = dilations
    else:
        dilations = (1,) * len(space)
    if d.chance(0.6):
        found["strides"] = tuple(d.choose([1, 1, 2, 3]) for _ in space)
    if d.chance(0.25):
        found["auto_pad"] = d.choose(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif d.chance(0.6):
        reach = [(k - 1) * e for k, e in zip(kernel, dilations, strict=True)]
        found["pads"] = tuple(d.integer(0, min(r, 3) if most_pad is None else min(r, most_pad)) for r in (*reach, *reach))
    return kernel, found


def conv(d: Drawing) -> None:
    """One to three spatial dimensions, groups, depthwise, weights of any kind."""
    x = d.ranked(3, 5 if d.chance(0.3) else 4)
    _, channels, *space = x.type.static
    if not channels:
        raise RejectedError("no channels")
    group = d.choose([1, 1, 1, channels, gcd(channels, 2), gcd(channels, 4)])
    out = group * d.choose([1, 1, 2, 3, 4] if group > 1 else [1, 2, 3, 4, 8, 16, 17])
    kernel, numbers = _window(d, tuple(space))
    if x.type.elements * prod(kernel) * out // group > MOST_PRODUCTS:
        raise RejectedError("too large")
    w = d.like((out, channels // group, *kernel), x.type.dtype, constant=0.75)
    b = [d.like((out,), x.type.dtype, constant=0.8)] if d.chance(0.5) else []
    if d.chance(0.3):
        numbers["kernel_shape"] = kernel
    y = d.apply("Conv", [x, w, *b], group=group, **numbers)
    if d.chance(0.4):
        y = d.apply(d.choose(["Relu", "Abs", "Neg"]), [y])
    if d.chance(0.3):
        y = d.apply(d.choose(["Add", "Mul"]), [y, d.broadcasting(y.type.static, y.type.dtype)])
    if d.chance(0.3):
        factor = d.add_constant(d.array((out, *(1 for _ in space)), y.type.dtype))
        d.apply("Mul", [y, factor])


def pool(d: Drawing) -> None:
    """Maximum, average and power pools, with every attribute."""
    x = d.ranked(3, 5 if d.chance(0.3) else 4)
    op = d.choose(["MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool"])
    kernel, numbers = _window(d, x.type.static[2:])
    if d.chance(0.4):
        numbers["ceil_mode"] = 1
    if op == "AveragePool" and d.chance(0.5):
        numbers["count_include_pad"] = 1
    if op == "LpPool":
        numbers["p"] = d.integer(1, 3)
    outputs = 2 if op == "MaxPool" and d.chance(0.25) else 1
    d.apply_all(op, [x], outputs=outputs, kernel_shape=kernel, **numbers)


def conv_transpose(d: Drawing) -> None:
    """With strides, padding on either side of the result, and output padding."""
    x = d.ranked(3, 4)
    _, channels, *space = x.type.static
    if not channels:
        raise RejectedError("no channels")
    group = d.choose([1, 1, channels, gcd(channels, 2)])
    out = d.choose([1, 2, 3, 4])
    kernel = tuple(d.integer(1, 4) for _ in space)
    strides = tuple(d.choose([1, 2, 2, 3]) for _ in space)
    numbers: dict[str, object] = {"strides": strides}
    if d.chance(0.3):
        numbers["dilations"] = tuple(d.choose([1, 2]) for _ in space)
    if d.chance(0.5):
        numbers["pads"] = tuple(d.integer(0, k - 1) for k in (*kernel, *kernel))
    if d.chance(0.3):
        numbers["output_padding"] = tuple(d.integer(0, s - 1) for s in strides)
    if x.type.elements * prod(kernel) * out > MOST_PRODUCTS:
        raise RejectedError("too large")
    w = d.like((channels, out, *kernel), x.type.dtype, constant=0.75)
    b = [d.like((out * group,), x.type.dtype, constant=0.8)] if d.chance(0.4) else []
    y = d.apply("ConvTranspose", [x, w, *b], group=group, **numbers)
    if d.chance(0.4):
        d.apply("Relu", [y])


def global_pool(d: Drawing) -> None:
    """Over all space."""
    d.apply(d.choose(["GlobalAveragePool", "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"]), [d.ranked(3, 4)])


def _indices(d: Drawing, shape: tuple[int, ...], size: int | list[int], dtype: object = np.int64) -> Value:
    """Return indices below SIZE (one size for each place along the last dimension, where there are several)."""
    if not np.all(np.array(size) > 0):
        raise RejectedError("nothing to index")
    limit = np.array(size)
    array = np.asarray(d.random.integers(-limit, limit, (*shape,)))
    if d.chance(0.2) and isinstance(size, int) and len(shape) == 1:
        step = d.choose([1, -1, 2])
        first = 0 if step > 0 else size - 1
        array = np.clip(first + step * np.arange(shape[0]), 0, size - 1)
    array = np.asarray(array.astype(dtype))  # type: ignore[call-overload]
    if d.chance(0.5) or len(d.inputs) >= 6:
        return d.add_constant(array)
    value = d.add_input(shape, I32 if array.dtype == np.int32 else I64)
    d.truth[value] = d.shaken[value] = array
    if d.chance(0.2) and len(shape) > 1:
        value = d.apply("Transpose", [d.apply("Transpose", [value])])
    return value


def gather(d: Drawing) -> None:
    """Slices of a tensor."""
    x = d.pick(lambda v: len(v.type.shape) > 0)
    axis = d.integer(0, len(x.type.shape) - 1)
    shape = d.choose([(), (1,), (2,), (5,), (2, 3), (3, 1, 2), (8,)])
    indices = _indices(d, shape, x.type.static[axis], d.choose([np.int64, np.int32]))
    if d.chance(0.3) and indices.constant is None and (np.abs(d.truth[indices]) < x.type.static[axis]).all():
        indices = d.apply("Abs", [indices])
    d.apply("Gather", [x, indices], axis=axis - (len(x.type.shape) if d.chance(0.3) else 0))


def gather_elements(d: Drawing) -> None:
    """Single elements along an axis."""
    x = d.pick(lambda v: len(v.type.shape) > 0)
    axis = d.integer(0, len(x.type.shape) - 1)
    shape = tuple(d.integer(1, 4) if i == axis else n if d.chance(0.7) else d.integer(min(1, n), n) for i, n in enumerate(x.type.static))
    d.apply("GatherElements", [x, _indices(d, shape, x.type.static[axis], d.choose([np.int64, np.int32]))], axis=axis)


def gather_nd(d: Drawing) -> None:
    """Slices by several indices."""
    x = d.pick(lambda v: len(v.type.shape) > 0)
    rank = len(x.type.shape)
    batch = d.integer(0, min(2, rank - 1))
    chosen = d.integer(1, rank - batch)
    places = d.choose([(), (1,), (3,), (2, 2)])
    sizes = list(x.type.static[batch : batch + chosen])
    d.apply("GatherND", [x, _indices(d, (*x.type.static[:batch], *places, chosen), sizes)], batch_dims=batch)


def one_hot(d: Drawing) -> None:
    """A row for every index."""
    depth = d.integer(1, 6)
    shape = d.choose([(), (3,), (2, 2)])
    values = d.add_constant(d.array((2,), d.float_))
    d.apply("OneHot", [_indices(d, shape, depth), d.add_constant(np.array(depth)), values], axis=-1 if d.chance(0.5) else 0)


def cumulative(d: Drawing) -> None:
    """Sums up to each element, from either end."""
    x = d.pick(lambda v: len(v.type.shape) > 0 and (v.type.dtype.is_float or v.type.dtype in (I32, I64)))
    axis = d.integer(0, len(x.type.shape) - 1)
    d.apply("CumSum", [x, d.add_constant(np.array(axis))], exclusive=d.integer(0, 1), reverse=d.integer(0, 1))


def top_k(d: Drawing) -> None:
    """The greatest or least elements, and where they were."""
    x = d.pick(lambda v: len(v.type.shape) > 0 and v.type.dtype != BOOL)
    axis = d.integer(0, len(x.type.shape) - 1)
    size = x.type.static[axis]
    count = d.numbers(d.integer(1, size) if size else 0)
    d.apply_all("TopK", [x, count], outputs=d.integer(1, 2), axis=axis, largest=d.integer(0, 1))


def arg_reduce(d: Drawing) -> None:
    """Where the greatest or the least element is."""
    x = d.pick(lambda v: len(v.type.shape) > 0 and v.type.dtype != BOOL)
    if d.chance(0.2) and x.type.dtype.is_float:
        d.apply("Hardmax", [x], axis=d.integer(0, len(x.type.shape) - 1))
        return
    numbers = {"axis": d.integer(0, len(x.type.shape) - 1), "keepdims": d.integer(0, 1), "select_last_index": d.integer(0, 1)}
    d.apply(d.choose(["ArgMax", "ArgMin"]), [x], **numbers)


def einsum(d: Drawing) -> None:
    """Products, diagonals, sums and transpositions in one."""
    x = d.pick(lambda v: 0 < len(v.type.shape) < 4 and v.type.dtype.is_float and v.type.elements > 0)
    letters = "abcd"[: len(x.type.shape)]
    other = "".join(letter for letter in letters if d.chance(0.6)) or letters[-1]
    if d.chance(0.7):
        other += "k"
    sizes = {**dict(zip(letters, x.type.static, strict=True)), "k": d.integer(1, 5)}
    other = "".join(d.choose([other, other[::-1]]))
    names = [letter for letter in dict.fromkeys(letters + other) if d.chance(0.7)]
    d.random.shuffle(names)
    if prod(sizes[letter] for letter in dict.fromkeys(letters + other)) > MOST_PRODUCTS // 4:
        raise RejectedError("too large")
    if d.chance(0.2):
        d.apply("Einsum", [x], equation=f"{letters}->{''.join(n for n in names if n in letters)}")
        return
    y = d.like(tuple(sizes[letter] for letter in other), x.type.dtype)
    d.apply("Einsum", [x, y], equation=f"{letters},{other}->{''.join(names)}")


def scatter(d: Drawing) -> None:
    """Updates at places that indices give."""
    x = d.pick(lambda v: len(v.type.shape) > 0 and v.type.elements > 0)
    rank = len(x.type.shape)
    is_number = x.type.dtype != BOOL
    reduction = d.choose(["none", "none", "add", "max", "min", "mul"] if is_number else ["none"])
    if d.chance(0.5):
        axis = d.integer(0, rank - 1)
        shape = tuple(d.integer(1, n) for n in x.type.static)
        indices = _indices(d, shape, x.type.static[axis], d.choose([np.int64, np.int32]))
        d.apply("ScatterElements", [x, indices, d.like(shape, x.type.dtype)], axis=axis, reduction=reduction)
        return
    chosen = d.integer(1, rank)
    places = d.choose([(), (1,), (3,), (2, 2)])
    indices = _indices(d, (*places, chosen), list(x.type.static[:chosen]))
    d.apply("ScatterND", [x, indices, d.like((*places, *x.type.static[chosen:]), x.type.dtype)], reduction=reduction)


def resize(d: Drawing) -> None:
    """Every mode, by scales or sizes."""
    x = d.ranked(3, 4)
    if not x.type.elements:
        raise RejectedError("nothing to resize")
    mode = d.choose(["nearest", "nearest", "linear", "linear", "cubic"])
    space = x.type.static[2:]
    numbers = {
        "mode": mode,
        "coordinate_transformation_mode": d.choose(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]),
        "nearest_mode": d.choose(["round_prefer_floor", "floor", "ceil", "round_prefer_ceil"]),
        "antialias": int(mode != "nearest" and d.chance(0.2)),
    }
    if d.chance(0.5):
        sizes = d.numbers(*x.type.static[:2], *(d.integer(1, 2 * n) for n in space))
        d.apply("Resize", [x, None, None, sizes], **numbers)
        return
    scales = np.array([1, 1, *(d.choose([0.5, 1, 2, 1.5, 3]) for _ in space)], np.float32)
    d.apply("Resize", [x, None, d.attribute(scales)], **numbers)


def grid_sample(d: Drawing) -> None:
    """Images sampled at computed places."""
    x = d.ranked(4, 4)
    if not x.type.elements:
        raise RejectedError("nothing to sample")
    grid = d.like((x.type.static[0], d.integer(1, 4), d.integer(1, 4), 2), x.type.dtype, constant=0.3)
    numbers = {"align_corners": d.integer(0, 1), "padding_mode": d.choose(["zeros", "border", "reflection"])}
    d.apply("GridSample", [x, grid], mode=d.choose(["linear", "nearest", "cubic"]), **numbers)


def recurrent(d: Drawing) -> None:
    """LSTM, GRU and RNN."""
    if d.is_exact or d.float_ not in (F16, F32):
        raise RejectedError("nothing about them is exact")
    steps, batch, width, hidden = d.integer(1, 5), d.integer(1, 3), d.integer(1, 6), d.integer(1, 5)
    op, gates = d.choose([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    direction = d.choose(["forward", "reverse", "bidirectional"])
    two = 2 if direction == "bidirectional" else 1
    x = d.like((steps, batch, width), d.float_, constant=0.0)
    w, r = d.like((two, gates * hidden, width), d.float_, constant=0.8), d.like((two, gates * hidden, hidden), d.float_, constant=0.8)
    b = d.like((two, 2 * gates * hidden), d.float_, constant=0.9) if d.chance(0.6) else None
    first = d.like((two, batch, hidden), d.float_) if d.chance(0.4) else None
    numbers = {"linear_before_reset": d.integer(0, 1)} if op == "GRU" else {}
    outputs = d.integer(1, 3 if op == "LSTM" else 2)
    d.apply_all(op, [x, w, r, b, None, first], outputs=outputs, hidden_size=hidden, direction=direction, **numbers)


def reverse_sequence(d: Drawing) -> None:
    """Each sequence up to its length."""
    x = d.pick(lambda v: len(v.type.shape) > 1 and v.type.elements > 0)
    lengths = np.asarray(d.random.integers(0, x.type.static[0] + 1, x.type.static[1]))
    d.apply("ReverseSequence", [x, d.add_constant(lengths)])


def fresh(d: Drawing) -> None:
    """Another input or constant, of any type."""
    dtype = d.choose([d.float_, d.float_, d.float_, F32, F16, I64, I32, BOOL, U8, I8])
    if d.chance(0.6):
        d.add_input(dtype=dtype)
    else:
        d.add_constant(d.array(d.shape(), dtype))


def dead_end(d: Drawing) -> None:
    """Work on constants alone: it folds."""
    x = d.add_constant(d.array(d.shape(1, 3), d.float_))
    d.apply("Add", [x, d.add_constant(d.array(x.type.static, d.float_))])


def residual(d: Drawing) -> None:
    """A chain that comes back to where it began."""
    x = d.pick_float()
    y = d.apply(d.choose(["Relu", "Neg", "Abs"]), [x])
    if d.chance(0.5) and len(y.type.shape) > 1:
        perm = [int(i) for i in d.random.permutation(len(y.type.shape))]
        y = d.apply("Transpose", [y], perm=tuple(perm))
        y = d.apply(d.choose(["Relu", "Neg", "Abs"]), [y])
        y = d.apply("Transpose", [y], perm=tuple(perm.index(i) for i in range(len(perm))))
    d.apply(d.choose(["Add", "Sub", "Max"]), [x, y])


STEPS: tuple[tuple[float, Callable[[Drawing], None]], ...] = (
    (3.0, unary),
    (0.7, attributed),
    (0.7, clip),
    (4.0, binary),
    (0.8, grow),
    (0.8, special_binary),
    (0.7, variadic),
    (1.0, compare),
    (0.8, logic),
    (1.2, where),
    (1.5, cast),
    (2.0, transpose),
    (1.5, reshape),
    (1.5, slice_),
    (1.5, concat),
    (1.2, pad),
    (0.8, split),
    (0.8, repeat),
    (0.5, blocks),
    (0.3, trilu),
    (2.2, reduce_),
    (1.2, softmax),
    (1.2, normalise),
    (0.5, batch_normalise),
    (2.5, matmul),
    (0.4, attention),
    (1.0, gemm),
    (3.0, conv),
    (1.5, pool),
    (0.7, conv_transpose),
    (0.4, global_pool),
    (1.2, gather),
    (0.6, gather_elements),
    (0.6, gather_nd),
    (0.2, one_hot),
    (0.5, cumulative),
    (0.6, top_k),
    (0.6, arg_reduce),
    (0.5, einsum),
    (0.8, scatter),
    (0.7, resize),
    (0.4, grid_sample),
    (0.2, recurrent),
    (0.2, reverse_sequence),
    (1.0, fresh),
    (0.2, dead_end),
    (0.8, residual),
)
