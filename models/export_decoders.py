"""Exports small decoders with their caches through both of torch's exporters, with batch, tokens and past open.

Needs torch, transformers and onnxscript, which tests and CI do not: graphs are committed without their weights. Those in models/decoders
were written with torch 2.14.1, transformers 5.24.0 and onnxscript 0.7.2.

Usage: python -m models.export_decoders     writes models/decoders/NAME/EXPORTER.fp32.onnx.xz
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
from transformers.cache_utils import DynamicCache

from models import weightless
from models.decoders import CACHES, FOLDER, VOCABULARY
from models.exports import KEEP_ELEMENTS, description

LAYERS, WIDTH, HEADS, PLACES = 2, 48, 4, 64
KEY_HEADS = {"gpt2": HEADS, "llama": 2}
INPUTS = ("input_ids", *(f"past.{name}" for name in CACHES))
OUTPUTS = ("logits", *(f"present.{name}" for name in CACHES))

Made = GPT2LMHeadModel | LlamaForCausalLM


def network(name: str) -> Made:
    """Return a network with random weights, large enough for every token to matter."""
    torch.manual_seed(0)
    made: Made
    if name == "gpt2":
        sizes = {"n_positions": PLACES, "n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS}
        made = GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, bos_token_id=0, eos_token_id=0, **sizes, attn_implementation="eager"))
    else:
        made = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=VOCABULARY,
                hidden_size=WIDTH,
                intermediate_size=80,
                num_hidden_layers=LAYERS,
                num_attention_heads=HEADS,
                num_key_value_heads=KEY_HEADS[name],
                max_position_embeddings=PLACES,
                attn_implementation="eager",
            )
        )
    for parameter in made.parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, std=0.25)
    return made.eval()


class Step(nn.Module):
    """A step of decoding: ids [batch, tokens] and the keys and values of earlier ones to logits and the longer keys and values."""

    def __init__(self, made: Made) -> None:
        super().__init__()
        self.made = made

    def forward(self, input_ids: Tensor, *past: Tensor) -> tuple[Tensor, ...]:
        """Return the logits, then keys and values of each layer."""
        cache = DynamicCache([(past[2 * layer], past[2 * layer + 1]) for layer in range(LAYERS)])
        places = torch.arange(input_ids.shape[1]) + past[0].shape[2]
        found = self.made(input_ids=input_ids, past_key_values=cache, position_ids=places[None], use_cache=True)
        return (found.logits, *(tensor for layer in found.past_key_values.layers for tensor in (layer.keys, layer.values)))


def export(name: str, exporter: str, path: Path) -> None:
    """Write one export."""
    step = Step(network(name)).eval()
    ids = torch.randint(0, VOCABULARY, (2, 3))
    past = [torch.randn(2, KEY_HEADS[name], 5, WIDTH // HEADS) for _ in CACHES]
    if exporter == "torchscript":
        axes = {"input_ids": {0: "batch", 1: "sequence"}, **{name: {0: "batch", 2: "past"} for name in INPUTS[1:]}}
        names = {"input_names": INPUTS, "output_names": OUTPUTS}
        torch.onnx.export(step, (ids, *past), path, **names, dynamic_axes=axes, opset_version=17, dynamo=False)
        return
    batch, sequence, length = (torch.export.Dim(name, min=1, max=32) for name in ("batch", "sequence", "past"))
    shapes = ({0: batch, 1: sequence}, tuple({0: batch, 2: length} for _ in past))
    names = {"input_names": list(INPUTS), "output_names": list(OUTPUTS)}
    torch.onnx.export(step, (ids, *past), path, **names, dynamic_shapes=shapes, opset_version=18, dynamo=True)


def main() -> None:
    """Export all."""
    for name, title in (("gpt2", "GPT2LMHeadModel"), ("llama", "LlamaForCausalLM")):
        folder = FOLDER / name
        folder.mkdir(exist_ok=True)
        for exporter in ("dynamo", "torchscript"):
            with tempfile.TemporaryDirectory() as temporary:
                path = Path(temporary, "model.onnx")
                export(name, exporter, path)
                print(name, exporter, weightless.strip(path, folder / f"{exporter}.fp32.onnx.xz", keep_elements=KEEP_ELEMENTS))
        text = description(
            title=f"{title}, steps of decoding",
            task="tokens and the keys and values of earlier ones to logits and the longer keys and values",
            source=f"transformers.{title}",
            licence="Apache-2.0",
        )
        (folder / "model.toml").write_text(text)


if __name__ == "__main__":
    main()
