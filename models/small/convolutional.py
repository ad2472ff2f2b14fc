"""Small convolutional networks: ResNet and MobileNetV3."""

from __future__ import annotations

import onnx

from models.small.builder import Builder

CLASSES = 10


def resnet(builder: Builder, batch: int) -> onnx.ModelProto:
    """Return a ResNet of bottlenecks: stem, max pooling, two stages of two blocks, the second of stride 2, mean and classifier.

    Shapes: image [batch, 3, 64, 64] to [batch, 10].
    """
    x = builder.input("x", (batch, 3, 64, 64))
    x = builder.node("Relu", builder.convolution(x, 3, 16, 7, stride=2))
    x = builder.node("MaxPool", x, ceil_mode=0, dilations=[1, 1], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    channels = 16
    for width, stride in ((8, 1), (16, 2)):
        x = _bottleneck(builder, x, channels, width, stride)
        channels = 4 * width
        x = _bottleneck(builder, x, channels, width, 1)
    x = builder.flatten(builder.spatial_mean(x), batch, channels)
    return builder.model("resnet", builder.classifier(x, channels, CLASSES), (batch, CLASSES))


def _bottleneck(builder: Builder, x: str, channels: int, width: int, stride: int) -> str:
    """1×1, 3×3 and 1×1 convolutions around a residual, which has a convolution of its own where the shape changes.

    Source: He et al., Deep Residual Learning (2016), figure 5; the stride lies on the 3×3, as in torchvision.
    """
    y = builder.node("Relu", builder.convolution(x, channels, width, 1))
    y = builder.node("Relu", builder.convolution(y, width, width, 3, stride=stride))
    y = builder.convolution(y, width, 4 * width, 1)
    shortcut = x if channels == 4 * width and stride == 1 else builder.convolution(x, channels, 4 * width, 1, stride=stride)
    return str(builder.node("Relu", builder.node("Add", y, shortcut)))


def mobilenet_v3(builder: Builder, batch: int) -> onnx.ModelProto:
    """Return a MobileNetV3: depthwise 3×3 and 5×5, squeeze-and-excite, both activations, residuals, and its two-layer classifier.

    Shapes: image [batch, 3, 64, 64] to [batch, 10].
    """
    x = builder.input("x", (batch, 3, 64, 64))
    x = builder.node("HardSwish", builder.convolution(x, 3, 8, 3, stride=2))
    channels = 8
    for expanded, filters, kernel, stride, activation, is_squeezed in (
        (8, 8, 3, 1, "Relu", False),
        (32, 12, 3, 2, "Relu", False),
        (36, 20, 5, 2, "Relu", True),
        (60, 20, 5, 1, "HardSwish", True),
        (60, 20, 3, 1, "HardSwish", False),
    ):
        x = _inverted_residual(builder, x, channels, expanded, filters, kernel, stride, activation, is_squeezed=is_squeezed)
        channels = filters
    width = 6 * channels
    x = builder.node("HardSwish", builder.convolution(x, channels, width, 1))
    x = builder.flatten(builder.spatial_mean(x), batch, width)
    x = builder.node("HardSwish", builder.classifier(x, width, 64))
    return builder.model("mobilenet_v3", builder.classifier(x, 64, CLASSES), (batch, CLASSES))


def _inverted_residual(
    builder: Builder, x: str, channels: int, expanded: int, filters: int, kernel: int, stride: int, activation: str, *, is_squeezed: bool
) -> str:
    """Expand, filter each channel, weigh channels, project. Source: Howard et al., Searching for MobileNetV3 (2019), figure 4."""
    y = x if expanded == channels else builder.node(activation, builder.convolution(x, channels, expanded, 1))
    y = builder.node(activation, builder.convolution(y, expanded, expanded, kernel, stride=stride, groups=expanded))
    if is_squeezed:
        squeezed = max(4, expanded // 4)
        gate = builder.node("Relu", builder.convolution(builder.spatial_mean(y), expanded, squeezed, 1))
        gate = builder.node("HardSigmoid", builder.convolution(gate, squeezed, expanded, 1), alpha=1 / 6, beta=0.5)
        y = builder.node("Mul", gate, y)
    y = builder.convolution(y, expanded, filters, 1)
    return str(builder.node("Add", y, x)) if channels == filters and stride == 1 else y
