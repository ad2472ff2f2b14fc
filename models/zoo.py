"""The benchmark models: real topologies with seeded random weights, built from public model classes; and their ONNX exports.

Needs torch, torchvision (of torch's build), transformers and onnxscript. Tests and CI do not: the exported graphs are committed.

Usage: python -m models.zoo export NAME dynamo|torchscript fp32|fp16 OUT.onnx [BATCH]   the whole model
       python -m models.zoo graphs FOLDER     every model, both exporters and types, as FOLDER/NAME/EXPORTER.TYPE.onnx.xz
"""

from __future__ import annotations

import inspect
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import onnx
import torch
from torch import Tensor, nn

from models import halve, weightless
from models.llama import LlamaDecode

Inputs = tuple[Tensor, ...]
MakeInputs = Callable[[int], Inputs]
"""From a batch size to seeded inputs."""

TYPES = {"fp16": torch.float16, "fp32": torch.float32}
EXPORTERS = ("dynamo", "torchscript")
Dims = Mapping[int, tuple[str, int, int]]
"""Dimensions that are open, by number: name, least and greatest size."""

BATCH_32 = ("resnet50", "mobilenet_v3", "vit_b16", "bert_base")
"""Models whose graphs for a batch of 32 are kept too."""


TEXTS: Dims = {0: ("batch", 1, 1024), 1: ("tokens", 1, 512)}
IMAGES: Dims = {0: ("batch", 1, 1024), 2: ("height", 32, 2048), 3: ("width", 32, 2048)}

OPEN: Mapping[str, tuple[Dims, tuple[str, ...]]] = {
    "bert_base": (TEXTS, ("dynamo",)),
    "gpt2_s128": (TEXTS, ("dynamo",)),
    "vit_any_size": (IMAGES, EXPORTERS),
}
"""Models of which one graph for many sizes is kept too: the dimensions of every input that are open, and the exporters that write it."""

ONLY_OPEN = ("vit_any_size",)
"""Models of which no other graph is kept."""


def _vision(name: str) -> Callable[[], tuple[nn.Module, MakeInputs]]:
    def make() -> tuple[nn.Module, MakeInputs]:
        import torchvision

        return getattr(torchvision.models, name)(weights=None), lambda batch: (torch.randn(batch, 3, 224, 224),)

    return make


class _Bert(nn.Module):
    """BERT-base without its head: token ids and mask to the last hidden state."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import BertConfig, BertModel

        self.m = BertModel(BertConfig(attn_implementation="sdpa"), add_pooling_layer=True)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the last hidden state [batch, tokens, width]."""
        return self.m(input_ids=ids, attention_mask=mask).last_hidden_state


class _Vit(nn.Module):
    """ViT-B/16 for images of any size: its table of positions is resized to the patches that there are."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import ViTConfig, ViTForImageClassification

        self.m = ViTForImageClassification(ViTConfig(num_labels=1000, attn_implementation="sdpa"))

    def forward(self, pixel_values: Tensor) -> Tensor:
        """Return the logits [batch, classes] of images [batch, 3, height, width]."""
        return self.m(pixel_values=pixel_values, interpolate_pos_encoding=True).logits


class _Gpt2(nn.Module):
    """GPT-2 with its language-model head: token ids to logits."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel

        self.m = GPT2LMHeadModel(GPT2Config(attn_implementation="sdpa"))

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits [batch, tokens, vocabulary]."""
        return self.m(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits


def _bert(tokens: int) -> Callable[[], tuple[nn.Module, MakeInputs]]:
    return lambda: (_Bert(), lambda batch: (torch.randint(0, 30522, (batch, tokens)), torch.ones(batch, tokens, dtype=torch.int64)))


def _gpt2(tokens: int) -> Callable[[], tuple[nn.Module, MakeInputs]]:
    return lambda: (_Gpt2(), lambda batch: (torch.randint(0, 50257, (batch, tokens)),))


def _llama() -> tuple[nn.Module, MakeInputs]:
    module = LlamaDecode()
    return module, lambda batch: (torch.randint(0, module.vocabulary, (batch, 1)), *module.random_past(batch))


MODELS: dict[str, Callable[[], tuple[nn.Module, MakeInputs]]] = {
    "resnet50": _vision("resnet50"),
    "mobilenet_v3": _vision("mobilenet_v3_large"),
    "efficientnet_b0": _vision("efficientnet_b0"),
    "convnext_tiny": _vision("convnext_tiny"),
    "swin_t": _vision("swin_t"),
    "vit_b16": _vision("vit_b_16"),
    "vit_any_size": lambda: (_Vit(), lambda batch: (torch.randn(batch, 3, 96, 128),)),
    "bert_base": _bert(128),
    "gpt2_s128": _gpt2(128),
    "gpt2_s512": _gpt2(512),
    "llama1b_decode": _llama,
}


def build(name: str, batch: int, dtype: torch.dtype) -> tuple[nn.Module, Inputs]:
    """Return a model in evaluation mode, with seeded random weights, and inputs for it."""
    torch.manual_seed(0)
    module, make_inputs = MODELS[name]()
    module = liven(module.eval(), make_inputs(1)).to(dtype)
    return module, tuple(t.to(dtype) if t.is_floating_point() else t for t in make_inputs(batch))


@torch.no_grad()
def liven(module: nn.Module, inputs: Inputs) -> nn.Module:
    """Give random weights the scale of trained ones, so that every layer shows in the output.

    Fresh networks hide errors: batch norms at rest let the signal die, layer scales of 1e-6 and zero heads mute whole blocks.
    """
    for name, parameter in module.named_parameters():
        if "layer_scale" in name:
            parameter.uniform_(0.3, 0.7)
        elif parameter.dim() > 1 and float(parameter.abs().max()) == 0:
            parameter.normal_(0, parameter[0].numel() ** -0.5)
    norms = [m for m in module.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    if norms:
        for norm in norms:
            norm.weight.uniform_(0.5, 1.5)
            norm.bias.normal_(0, 0.2)
        _scale_to_unit_variance(module, inputs)
    return module.eval()


def _scale_to_unit_variance(module: nn.Module, inputs: Inputs) -> None:
    """Scale the weights of each layer in turn so that its output has deviation 1.

    Source: D. Mishkin and J. Matas, All You Need Is a Good Init (2016), section 3: layer-sequential unit variance.
    """

    def scale(layer: nn.Module, _: object, output: Tensor) -> Tensor:
        deviation = float(output.std())
        layer.weight.div_(deviation)
        return output / deviation

    hooks = [m.register_forward_hook(scale) for m in module.modules() if isinstance(m, (nn.Conv2d, nn.Linear))]
    module(*(torch.randn(8, *t.shape[1:]) if t.is_floating_point() else t for t in inputs))
    for hook in hooks:
        hook.remove()


def export(name: str, exporter: str, dtype: str, path: Path, batch: int = 1) -> None:
    """Write a model to PATH as ONNX through one of torch's two exporters; weights above 2 GiB go beside it.

    With a BATCH of 0 the dimensions are open that OPEN says.
    """
    module, inputs = build(name, batch or 2, TYPES[dtype])
    dims: Dims = {} if batch else OPEN[name][0]
    torch.backends.mha.set_fastpath_enabled(False)  # the TorchScript exporter cannot write the fused operator
    with torch.inference_mode():
        if exporter == "dynamo":
            ranges = {number: torch.export.Dim(dim, min=low, max=high) for number, (dim, low, high) in dims.items()}
            shapes = tuple(ranges for _ in inputs) if dims else None
            torch.onnx.export(module, inputs, path, dynamo=True, dynamic_shapes=shapes, external_data=True, verbose=False, optimize=True)
            return
        names = list(inspect.signature(module.forward).parameters) if dims else None
        axes = {text: {number: dim for number, (dim, _, _) in dims.items()} for text in names} if names else None
        torch.onnx.export(module, inputs, path, dynamo=False, opset_version=17, input_names=names, dynamic_axes=axes)
    if dtype == "fp16":
        model = onnx.load(path)
        if not _is_valid(path):
            weightless.save(halve.halve(model), path)


def _is_valid(path: Path) -> bool:
    """Return whether the types of a model agree."""
    try:
        onnx.checker.check_model(path, full_check=True)
    except onnx.shape_inference.InferenceError:
        return False
    return True


def export_graphs(folder: Path) -> None:
    """Write every model's graphs below FOLDER, except those that are there; each in a process of its own, so that memory is given back."""
    jobs = [(name, 1, exporter, dtype) for name in MODELS if name not in ONLY_OPEN for exporter in EXPORTERS for dtype in TYPES]
    jobs += [(name, 32, "dynamo", dtype) for name in BATCH_32 for dtype in TYPES]
    jobs += [(name, 0, exporter, dtype) for name, (_, exporters) in OPEN.items() for exporter in exporters for dtype in TYPES]
    for name, batch, exporter, dtype in jobs:
        target = folder / name / f"{'' if batch == 1 else f'b{batch}.' if batch else 'open.'}{exporter}.{dtype}.onnx.xz"
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            whole = Path(scratch) / "model.onnx"
            command = [sys.executable, "-m", "models.zoo", "export", name, exporter, dtype, str(whole), str(batch)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{target}: export failed: {done.stderr.strip().splitlines()[-1][:160]}", flush=True)
                continue
            print(f"{target}: {weightless.strip(whole, target)}", flush=True)


def main(arguments: list[str]) -> int:
    """Run the command line; see the module's text."""
    match arguments:
        case ["export", name, exporter, dtype, path]:
            export(name, exporter, dtype, Path(path))
        case ["export", name, exporter, dtype, path, batch]:
            export(name, exporter, dtype, Path(path), int(batch))
        case ["graphs", folder]:
            export_graphs(Path(folder))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
