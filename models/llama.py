"""One decode step of a decoder of Llama-3.2-1B's shape, as a torch module."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ROPE_BASE = 500_000.0
NORM_EPSILON = 1e-5


class _Block(nn.Module):
    """Weights of one layer: norms, attention projections, gated feed-forward."""

    def __init__(self, width: int, key_width: int, hidden: int) -> None:
        super().__init__()
        self.attention_norm = nn.Parameter(torch.ones(width))
        self.feed_norm = nn.Parameter(torch.ones(width))
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, key_width, bias=False)
        self.value = nn.Linear(width, key_width, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)


class LlamaDecode(nn.Module):
    """Grouped-query attention over a static past, SwiGLU, rotary positions, RMS norms: one token in, its logits and the new keys out.

    Shapes:
        ids [batch, 1]; past_keys and past_values [layers, batch, key heads, past, head size].
    """

    def __init__(
        self,
        layers: int = 16,
        width: int = 2048,
        heads: int = 32,
        key_heads: int = 8,
        hidden: int = 8192,
        vocabulary: int = 128256,
        past: int = 1024,
    ) -> None:
        super().__init__()
        self.heads, self.key_heads, self.head_size, self.past, self.vocabulary = heads, key_heads, width // heads, past, vocabulary
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(_Block(width, key_heads * self.head_size, hidden) for _ in range(layers))
        self.norm = nn.Parameter(torch.ones(width))
        self.head = nn.Linear(width, vocabulary, bias=False)
        frequencies = past / (ROPE_BASE ** (torch.arange(0, self.head_size, 2).float() / self.head_size))
        angles = torch.cat([frequencies, frequencies])
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def random_past(self, batch: int) -> tuple[Tensor, Tensor]:
        """Return random keys and values of the past."""
        shape = (len(self.blocks), batch, self.key_heads, self.past, self.head_size)
        return torch.randn(shape), torch.randn(shape)

    def _normalise(self, x: Tensor, weight: Tensor) -> Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + NORM_EPSILON)).to(x.dtype) * weight

    def _rotate(self, x: Tensor) -> Tensor:
        first, second = x.chunk(2, -1)
        return x * self.cos.to(x.dtype) + torch.cat([-second, first], -1) * self.sin.to(x.dtype)

    def _heads(self, x: Tensor, count: int) -> Tensor:
        return x.view(x.shape[0], 1, count, self.head_size).transpose(1, 2)

    def forward(self, ids: Tensor, past_keys: Tensor, past_values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the logits [batch, 1, vocabulary] and the keys and values of this token."""
        batch = ids.shape[0]
        x = self.embedding(ids)
        new_keys, new_values = [], []
        for layer, block in enumerate(self.blocks):
            y = self._normalise(x, block.attention_norm)
            query = self._rotate(self._heads(block.query(y), self.heads))
            key = self._rotate(self._heads(block.key(y), self.key_heads))
            value = self._heads(block.value(y), self.key_heads)
            new_keys.append(key)
            new_values.append(value)
            keys = torch.cat([past_keys[layer], key], 2)
            values = torch.cat([past_values[layer], value], 2)
            grouped = query.view(batch, self.key_heads, self.heads // self.key_heads, self.head_size)
            scores = (grouped @ keys.transpose(-1, -2)) * (self.head_size**-0.5)
            attended = torch.softmax(scores.float(), -1).to(x.dtype) @ values
            x = x + block.output(attended.reshape(batch, 1, -1))
            y = self._normalise(x, block.feed_norm)
            x = x + block.down(nn.functional.silu(block.gate(y)) * block.up(y))
        return self.head(self._normalise(x, self.norm)), torch.stack(new_keys), torch.stack(new_values)
