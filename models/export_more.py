"""Exports further networks, small in width and depth but with the structure of the real ones, through both of torch's exporters.

Needs torch, transformers, timm, diffusers and onnxscript, which tests and CI do not: the graphs are committed without their weights. Those
in models/exports were written with torch 2.14.1, transformers 5.24.0, timm 1.0.31, diffusers 0.42.1 and onnxscript 0.7.2.

Usage: python -m models.export_more [NAME ...]     writes models/exports/NAME/[open.]EXPORTER.fp32.onnx.xz; all networks without a name
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from models import weightless
from models.exports import FOLDER, KEEP_ELEMENTS, description
from models.zoo import liven

OPSETS = {"dynamo": 18, "torchscript": 17, "dynamo24": 24}
"""What is asked of each exporter; from opset 24 on, one of them writes attention as one operator."""

BOTH = ("dynamo", "torchscript")
AND_ATTENTION = (*BOTH, "dynamo24")

WORDS = 200
"""Size of every vocabulary."""

TEXT = {"vocab_size": WORDS, "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "initializer_range": 0.1}
"""A language model that is wide and deep enough to have every kind of node; its weights are large enough for every layer to show."""

ENCODER = {**TEXT, "intermediate_size": 128, "max_position_embeddings": 64}
DECODER = {**ENCODER, "num_key_value_heads": 2, "head_dim": 16}

Call = Callable[..., Any]
Made = tuple[nn.Module, Call, dict[str, Tensor]]
"""A module, how to call it, and its inputs by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network to export.

    Attributes:
        title: for people.
        task: what goes in and out.
        source: class that it is an instance of.
        make: builds it.
        licence: of that class, as an SPDX identifier.
        exporters: how it is exported, as OPSETS has it.
        dims: dimensions of the input that are open, by number; none where the graph has fixed sizes.
        open: ranges of them that one library is tried with, as the catalogue has them.
    """

    title: str
    task: str
    source: str
    make: Callable[[], Made]
    licence: str = "Apache-2.0"
    exporters: tuple[str, ...] = BOTH
    dims: Mapping[int, str] = field(default_factory=dict)
    open: tuple[int | str, ...] = ()


class _Called(nn.Module):
    """A module that is called in a certain way: plain tensors in, plain tensors out."""

    def __init__(self, module: nn.Module, call: Call) -> None:
        super().__init__()
        self.module, self.call = module, call

    def forward(self, *inputs: Tensor) -> Any:
        """Call it."""
        return self.call(self.module, *inputs)


def _ids(tokens: int, batch: int = 1) -> Tensor:
    return torch.randint(3, WORDS, (batch, tokens))


def _text(tokens: int = 24, batch: int = 1) -> dict[str, Tensor]:
    return {"ids": _ids(tokens, batch), "mask": torch.ones(batch, tokens, dtype=torch.int64)}


def _pixels(height: int, width: int | None = None, batch: int = 1) -> dict[str, Tensor]:
    return {"pixels": torch.randn(batch, 3, height, width or height)}


def _hidden(module: nn.Module, ids: Tensor, mask: Tensor) -> Tensor:
    return module(input_ids=ids, attention_mask=mask).last_hidden_state


def _logits(module: nn.Module, ids: Tensor, mask: Tensor) -> Tensor:
    return module(input_ids=ids, attention_mask=mask, use_cache=False).logits


def _roberta() -> Made:
    from transformers import RobertaConfig, RobertaModel

    return RobertaModel(RobertaConfig(**ENCODER)), _hidden, _text()


def _deberta() -> Made:
    from transformers import DebertaV2Config, DebertaV2Model

    relative = {"relative_attention": True, "position_buckets": 16, "pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": "layer_norm"}
    return DebertaV2Model(DebertaV2Config(**ENCODER, **relative, share_att_key=True, conv_kernel_size=3)), _hidden, _text()


def _t5_encoder() -> Made:
    from transformers import T5Config, T5EncoderModel

    config = T5Config(vocab_size=WORDS, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, feed_forward_proj="gated-gelu")
    return T5EncoderModel(config), _hidden, _text()


def _whisper_encoder() -> Made:
    from transformers import WhisperConfig, WhisperModel

    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128}
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    config = WhisperConfig(
        vocab_size=WORDS, num_mel_bins=40, d_model=64, encoder_layers=2, max_source_positions=50, init_std=0.1, **heads, **tokens
    )
    return WhisperModel(config).encoder, lambda m, x: m(x).last_hidden_state, {"features": torch.randn(1, 40, 100)}


def _clip() -> Made:
    from transformers import CLIPConfig, CLIPModel

    tower = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    text = {**tower, "vocab_size": WORDS, "max_position_embeddings": 32, "bos_token_id": 0, "pad_token_id": 1, "eos_token_id": WORDS - 1}
    config = CLIPConfig(text_config=text, vision_config={**tower, "image_size": 64, "patch_size": 16}, projection_dim=32)

    def call(module: nn.Module, ids: Tensor, mask: Tensor, pixels: Tensor) -> tuple[Tensor, ...]:
        found = module(input_ids=ids, attention_mask=mask, pixel_values=pixels)
        return found.logits_per_image, found.text_embeds, found.image_embeds

    return CLIPModel(config), call, {**_text(16, batch=2), **_pixels(64)}


def _wav2vec2() -> Made:
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    shape = {"conv_dim": (32,) * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}
    config = Wav2Vec2Config(**{**TEXT, "vocab_size": 32}, intermediate_size=128, **shape)
    return Wav2Vec2ForCTC(config), lambda m, x: m(x).logits, {"waveform": torch.randn(1, 8000)}


def _qwen3_decode() -> Made:
    from transformers import DynamicCache, Qwen3Config, Qwen3ForCausalLM

    layers, heads, past, size = 2, 2, 15, 16

    def call(module: nn.Module, ids: Tensor, *cached: Tensor) -> tuple[Tensor, ...]:
        cache = DynamicCache()
        for layer in range(layers):
            cache.update(cached[2 * layer], cached[2 * layer + 1], layer)
        seen, place = torch.ones(1, past + 1, dtype=torch.int64), torch.full((1, 1), past)
        found = module(input_ids=ids, past_key_values=cache, use_cache=True, attention_mask=seen, position_ids=place)
        kept = [tensor for layer in found.past_key_values.layers for tensor in (layer.keys, layer.values)]
        return found.logits, *kept

    inputs = {f"past_{what}_{layer}": torch.randn(1, heads, past, size) for layer in range(layers) for what in ("key", "value")}
    return Qwen3ForCausalLM(Qwen3Config(**DECODER)), call, {"ids": _ids(1), **inputs}


def _gemma3() -> Made:
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    layers = ["sliding_attention", "sliding_attention", "full_attention"]
    config = Gemma3TextConfig(**{**DECODER, "num_hidden_layers": 3}, sliding_window=8, layer_types=layers, query_pre_attn_scalar=16)
    return Gemma3ForCausalLM(config), _logits, _text()


def _mamba() -> Made:
    from transformers import MambaConfig, MambaForCausalLM

    config = MambaConfig(vocab_size=WORDS, hidden_size=32, state_size=8, num_hidden_layers=2, time_step_rank=4, initializer_range=0.1)
    return MambaForCausalLM(config), lambda m, ids: m(input_ids=ids, use_cache=False).logits, {"ids": _ids(12)}


def _rt_detr() -> Made:
    from transformers import RTDetrConfig, RTDetrForObjectDetection, RTDetrResNetConfig

    stages = {"embedding_size": 16, "hidden_sizes": [16, 32, 32, 64], "depths": [1, 1, 1, 1], "layer_type": "basic"}
    config = RTDetrConfig(
        backbone_config=RTDetrResNetConfig(**stages, out_features=["stage2", "stage3", "stage4"]),
        encoder_hidden_dim=32,
        encoder_in_channels=[32, 32, 64],
        encoder_ffn_dim=64,
        encoder_attention_heads=4,
        d_model=32,
        decoder_in_channels=[32, 32, 32],
        decoder_ffn_dim=64,
        decoder_layers=2,
        decoder_attention_heads=4,
        num_queries=12,
        num_labels=8,
        anchor_image_size=[96, 96],
    )

    def call(module: nn.Module, pixels: Tensor) -> tuple[Tensor, Tensor]:
        found = module(pixel_values=pixels)
        return found.logits, found.pred_boxes

    return RTDetrForObjectDetection(config), call, _pixels(96)


def _depth_anything() -> Made:
    from transformers import DepthAnythingConfig, DepthAnythingForDepthEstimation, Dinov2Config

    backbone = Dinov2Config(
        hidden_size=64,
        num_hidden_layers=4,
        num_attention_heads=4,
        mlp_ratio=2,
        image_size=98,
        patch_size=14,
        out_indices=[1, 2, 3, 4],
        reshape_hidden_states=False,
        initializer_range=0.1,
    )
    config = DepthAnythingConfig(
        backbone_config=backbone,
        patch_size=14,
        neck_hidden_sizes=[16, 24, 32, 32],
        fusion_hidden_size=16,
        reassemble_hidden_size=64,
        head_hidden_size=8,
        initializer_range=0.1,
    )
    return DepthAnythingForDepthEstimation(config), lambda m, x: m(x).predicted_depth, _pixels(126, 112)


def _unet() -> Made:
    from diffusers import UNet2DConditionModel

    module = UNet2DConditionModel(
        sample_size=16,
        layers_per_block=1,
        block_out_channels=(16, 32),
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32,
        norm_num_groups=8,
    )
    inputs = {"sample": torch.randn(1, 4, 16, 16), "timestep": torch.tensor([7]), "text": torch.randn(1, 8, 32)}
    return module, lambda m, sample, step, text: m(sample, step, encoder_hidden_states=text).sample, inputs


def _timm(name: str, size: int, batch: int = 1, **options: Any) -> Callable[[], Made]:
    def make() -> Made:
        import timm

        return timm.create_model(name, pretrained=False, num_classes=16, **options), lambda m, x: m(x), _pixels(size, batch=batch)

    return make


def _vit() -> Made:
    from transformers import ViTConfig, ViTForImageClassification

    shape = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 96}
    module = ViTForImageClassification(ViTConfig(image_size=64, num_labels=10, initializer_range=0.1, **shape))
    return module, lambda m, x: m(pixel_values=x, interpolate_pos_encoding=True).logits, _pixels(96, 128, batch=2)


IMAGES = {0: "batch", 2: "height", 3: "width"}
SIZES = ("1..3", 3, "32..112", "32..112")

SWIN = {"img_size": 64, "embed_dim": 16, "depths": (1, 1, 2, 1), "num_heads": (1, 2, 4, 8), "window_size": (2, 2)}

NETWORKS: Mapping[str, Network] = {
    "roberta": Network(
        title="RoBERTa",
        task="token ids and mask to the last hidden state",
        source="transformers.RobertaModel",
        make=_roberta,
        exporters=AND_ATTENTION,
    ),
    "deberta_v3": Network(
        title="DeBERTa-v3: attention to relative positions",
        task="token ids and mask to the last hidden state",
        source="transformers.DebertaV2Model",
        make=_deberta,
    ),
    "t5_encoder": Network(
        title="T5, the encoder", task="token ids and mask to the last hidden state", source="transformers.T5EncoderModel", make=_t5_encoder
    ),
    "whisper_encoder": Network(
        title="Whisper, the encoder",
        task="a mel spectrogram to the last hidden state",
        source="transformers.WhisperModel",
        make=_whisper_encoder,
    ),
    "clip": Network(
        title="CLIP, both towers",
        task="two texts and an image to their similarities and embeddings",
        source="transformers.CLIPModel",
        make=_clip,
        exporters=AND_ATTENTION,
    ),
    "wav2vec2": Network(
        title="wav2vec 2.0", task="a waveform to the logits of letters", source="transformers.Wav2Vec2ForCTC", make=_wav2vec2
    ),
    "qwen3_decode": Network(
        title="Qwen3, one step of decoding",
        task="a token and the keys and values of 15 earlier ones to the logits and the longer keys and values",
        source="transformers.Qwen3ForCausalLM",
        make=_qwen3_decode,
        exporters=AND_ATTENTION,
    ),
    "gemma3": Network(
        title="Gemma 3: attention through a sliding window and in full",
        task="token ids and mask to the logits of every token",
        source="transformers.Gemma3ForCausalLM",
        make=_gemma3,
        exporters=AND_ATTENTION,
    ),
    "mamba": Network(
        title="Mamba: a state-space model, its scan unrolled",
        task="token ids to the logits of every token",
        source="transformers.MambaForCausalLM",
        make=_mamba,
    ),
    "rt_detr": Network(
        title="RT-DETR: deformable attention, the best queries picked",
        task="an image to the classes and boxes of 12 queries",
        source="transformers.RTDetrForObjectDetection",
        make=_rt_detr,
    ),
    "depth_anything": Network(
        title="Depth Anything: DINOv2 with a dense head",
        task="an image to its depth",
        source="transformers.DepthAnythingForDepthEstimation",
        make=_depth_anything,
    ),
    "unet": Network(
        title="U-Net of a diffusion model",
        task="a latent image, a time step and a text's embedding to the noise",
        source="diffusers.UNet2DConditionModel",
        make=_unet,
    ),
    "mobilevit": Network(
        title="MobileViT XXS", task="an image to the logits of 16 classes", source="timm mobilevit_xxs", make=_timm("mobilevit_xxs", 64)
    ),
    "vit_sizes": Network(
        title="ViT for images of any size",
        task="images to the logits of 10 classes; the table of positions is resized to the patches",
        source="transformers.ViTForImageClassification",
        make=_vit,
        dims=IMAGES,
        open=SIZES,
    ),
    "vit_sizes_timm": Network(
        title="ViT for images of any size, as timm writes it",
        task="images to the logits of 16 classes; the table of positions is resized to the patches, with antialiasing",
        source="timm vit_tiny_patch16_224, dynamic_img_size",
        make=_timm("vit_tiny_patch16_224", 96, batch=2, depth=2, embed_dim=48, img_size=64, dynamic_img_size=True),
        exporters=("dynamo",),  # the other one cannot write the resampling
        dims=IMAGES,
        open=SIZES,
    ),
    "swin_v2": Network(
        title="Swin V2, as timm writes it",
        task="an image to the logits of 16 classes",
        source="timm swinv2_cr_tiny_ns_224",
        make=_timm("swinv2_cr_tiny_ns_224", 64, **SWIN),
    ),
    "edgenext": Network(
        title="EdgeNeXt: convolutions, and attention between channels",
        task="an image to the logits of 16 classes",
        source="timm edgenext_xx_small",
        make=_timm("edgenext_xx_small", 64),
    ),
}
"""What is exported, by the name of its folder."""


def export(network: Network, exporter: str, path: Path) -> None:
    """Write a network to PATH as ONNX, with seeded random weights."""
    torch.manual_seed(0)
    module, call, inputs = network.make()
    called = liven(_Called(module, call).eval(), tuple(inputs.values()))
    names = list(inputs)
    with torch.inference_mode():
        options: dict[str, Any] = {"dynamo": False}
        if network.dims:
            options["dynamic_axes"] = {name: dict(network.dims) for name in names}
        if exporter.startswith("dynamo"):
            options = {"dynamo": True, "external_data": False, "verbose": False, "optimize": True}
            if network.dims:
                options["dynamic_shapes"] = {"inputs": tuple(dict(network.dims) for _ in names)}
        torch.onnx.export(called, tuple(inputs.values()), path, opset_version=OPSETS[exporter], input_names=names, **options)


def main(names: list[str]) -> int:
    """Run the command line; see the module's text."""
    unknown = [name for name in names if name not in NETWORKS]
    if unknown:
        print(f"There is no network {', '.join(unknown)}. Known: {', '.join(NETWORKS)}.", file=sys.stderr)
        return 2
    for name in names or NETWORKS:
        folder = FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        network = NETWORKS[name]
        text = description(title=network.title, task=network.task, source=network.source, licence=network.licence)
        if network.open:
            (tensor,) = network.make()[2]
            text += f"\n# Ranges that one library is tried with.\n[open]\n{tensor} = {json.dumps(list(network.open))}\n"
        (folder / "model.toml").write_text(text, encoding="utf-8")
        for exporter in network.exporters:
            with tempfile.TemporaryDirectory() as scratch:
                whole = Path(scratch) / "model.onnx"
                export(network, exporter, whole)
                target = folder / f"{'open.' if network.dims else ''}{exporter}.fp32.onnx.xz"
                stripped = weightless.strip(whole, target, keep_elements=KEEP_ELEMENTS)
                print(f"{name} {exporter}: {stripped}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
