"""Exports two networks of Flax through jax2onnx: channels-last convolutions, and attention as products of many axes.

Needs jax, flax and jax2onnx, which tests and CI do not: the graphs are committed without their weights. Those in models/exports were
written with jax 0.10.2, flax 0.12.8 and jax2onnx 0.17.1.

Usage: python -m models.export_jax [NAME ...]     writes models/exports/NAME/jax2onnx.fp32.onnx.xz; both networks without a name
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import onnx
from flax import nnx
from jax2onnx import to_onnx

from models import weightless
from models.exports import FOLDER, KEEP_ELEMENTS, description

SEED = 0


class Block(nnx.Module):
    """Two convolutions beside a projection."""

    def __init__(self, width_in: int, width: int, stride: int, rngs: nnx.Rngs) -> None:
        self.first = nnx.Conv(width_in, width, (3, 3), strides=stride, use_bias=False, rngs=rngs)
        self.second = nnx.Conv(width, width, (3, 3), use_bias=False, rngs=rngs)
        self.projection = nnx.Conv(width_in, width, (1, 1), strides=stride, rngs=rngs)
        self.norms = nnx.List([_batch_norm(width, rngs) for _ in range(2)])

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return the sum of both ways, [batch, height, width, channels]."""
        y = nnx.relu(self.norms[0](self.first(x)))
        return nnx.relu(self.norms[1](self.second(y)) + self.projection(x))


class ResNet(nnx.Module):
    """A small residual network."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.stem = nnx.Conv(3, 16, (7, 7), strides=2, rngs=rngs)
        self.blocks = nnx.List([Block(16, 16, 1, rngs), Block(16, 32, 2, rngs), Block(32, 64, 2, rngs)])
        self.head = nnx.Linear(64, 10, rngs=rngs)

    def __call__(self, pixels: jax.Array) -> jax.Array:
        """Return probabilities [batch, classes] of images [batch, height, width, channels]."""
        x = nnx.max_pool(nnx.relu(self.stem(pixels)), window_shape=(3, 3), strides=(2, 2), padding="SAME")
        for block in self.blocks:
            x = block(x)
        return nnx.softmax(self.head(jnp.mean(x, axis=(1, 2))))


class Layer(nnx.Module):
    """Causal attention and a feed-forward part, each behind a norm."""

    def __init__(self, width: int, heads: int, rngs: nnx.Rngs) -> None:
        self.norms = nnx.List([nnx.LayerNorm(width, rngs=rngs) for _ in range(2)])
        self.attention = nnx.MultiHeadAttention(num_heads=heads, in_features=width, qkv_features=width, decode=False, rngs=rngs)
        self.up = nnx.Linear(width, 4 * width, rngs=rngs)
        self.down = nnx.Linear(4 * width, width, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return the layer's result, [batch, tokens, width]."""
        x = x + self.attention(self.norms[0](x), mask=nnx.make_causal_mask(jnp.ones(x.shape[:2])))
        return x + self.down(nnx.gelu(self.up(self.norms[1](x))))


class Gpt(nnx.Module):
    """A small decoder with learned positions."""

    WORDS, TOKENS, WIDTH = 200, 24, 64

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.words = nnx.Embed(self.WORDS, self.WIDTH, rngs=rngs)
        self.places = nnx.Embed(self.TOKENS, self.WIDTH, rngs=rngs)
        self.layers = nnx.List([Layer(self.WIDTH, 4, rngs) for _ in range(2)])
        self.norm = nnx.LayerNorm(self.WIDTH, rngs=rngs)

    def __call__(self, ids: jax.Array) -> jax.Array:
        """Return the logits [batch, tokens, words] of token ids."""
        x = self.words(ids) + self.places(jnp.arange(self.TOKENS))
        for layer in self.layers:
            x = layer(x)
        return self.words.attend(self.norm(x))


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network to export.

    Attributes:
        title: for people.
        task: what goes in and out.
        make: builds it.
        input: what it takes.
    """

    title: str
    task: str
    make: Callable[[nnx.Rngs], Any]
    input: jax.ShapeDtypeStruct


NETWORKS: Mapping[str, Network] = {
    "flax_resnet": Network(
        title="A residual network of Flax, channels last",
        task="an image to the probabilities of 10 classes",
        make=ResNet,
        input=jax.ShapeDtypeStruct((1, 64, 64, 3), jnp.float32),
    ),
    "flax_gpt": Network(
        title="A decoder of Flax",
        task="token ids to the logits of every token",
        make=Gpt,
        input=jax.ShapeDtypeStruct((1, Gpt.TOKENS), jnp.int32),
    ),
}
"""What is exported, by the name of its folder."""


def _batch_norm(width: int, rngs: nnx.Rngs) -> nnx.BatchNorm:
    """Return a norm that looks trained: at rest it would let errors of the statistics pass."""
    norm = nnx.BatchNorm(width, use_running_average=True, rngs=rngs)
    keys = jax.random.split(rngs(), 4)
    norm.scale.value = jax.random.uniform(keys[0], (width,), minval=0.5, maxval=1.5)
    norm.bias.value = 0.2 * jax.random.normal(keys[1], (width,))
    norm.mean.value = 0.2 * jax.random.normal(keys[2], (width,))
    norm.var.value = jax.random.uniform(keys[3], (width,), minval=0.5, maxval=1.5)
    return norm


def main(names: list[str]) -> int:
    """Run the command line; see the module's text."""
    unknown = [name for name in names if name not in NETWORKS]
    if unknown:
        print(f"There is no network {', '.join(unknown)}. Known: {', '.join(NETWORKS)}.", file=sys.stderr)
        return 2
    for name in names or NETWORKS:
        network = NETWORKS[name]
        module = network.make(nnx.Rngs(SEED))
        module.eval()
        folder = FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        text = description(title=network.title, task=network.task, source="flax.nnx", licence="Apache-2.0")
        (folder / "model.toml").write_text(text, encoding="utf-8")
        with tempfile.TemporaryDirectory() as scratch:
            whole = Path(scratch) / "model.onnx"
            onnx.save(to_onnx(module, inputs=[network.input], model_name=name), whole)
            print(f"{name}: {weightless.strip(whole, folder / 'jax2onnx.fp32.onnx.xz', keep_elements=KEEP_ELEMENTS)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
