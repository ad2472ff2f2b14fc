"""Exports two networks of Keras through tf2onnx: MobileNetV2, and recurrent layers, which TensorFlow writes as loops.

Needs tensorflow-cpu, keras and tf2onnx, which tests and CI do not: the graphs are committed without their weights. Those in models/exports
were written with tensorflow 2.21.0, keras 3.15.1 and tf2onnx 1.17.0.

Usage: python -m models.export_keras [NAME ...]     writes models/exports/NAME/tf2onnx.fp32.onnx.xz; both networks without a name
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

for _name in ("object", "bool"):  # tf2onnx 1.17 asks numpy for names that numpy 2 has dropped
    if not hasattr(np, _name):
        setattr(np, _name, {"object": object, "bool": bool}[_name])
import tf2onnx  # noqa: E402

from models import weightless  # noqa: E402
from models.exports import FOLDER, KEEP_ELEMENTS, description  # noqa: E402

OPSET = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network to export.

    Attributes:
        title: for people.
        task: what goes in and out.
        make: builds it.
    """

    title: str
    task: str
    make: Callable[[], keras.Model]


def _mobilenet() -> keras.Model:
    model = keras.applications.MobileNetV2(input_shape=(96, 96, 3), alpha=0.35, weights=None, classes=10, classifier_activation=None)
    random = np.random.default_rng(0)
    for layer in model.layers:  # norms that look trained: at rest they would let errors of the statistics pass
        if isinstance(layer, keras.layers.BatchNormalization):
            shape = layer.gamma.shape
            scale, variance = random.uniform(0.5, 1.5, (2, *shape))
            bias, mean = random.normal(0, 0.2, (2, *shape))
            layer.set_weights([scale, bias, mean, variance])
    return model


def _recurrent() -> keras.Model:
    ids = keras.Input((20,))
    x = keras.layers.Embedding(50, 16)(ids)
    x = keras.layers.Bidirectional(keras.layers.LSTM(16, return_sequences=True))(x)
    return keras.Model(ids, keras.layers.Dense(5)(keras.layers.GRU(12)(x)))


NETWORKS: Mapping[str, Network] = {
    "keras_mobilenet": Network(title="MobileNetV2 of Keras, channels last", task="an image to the logits of 10 classes", make=_mobilenet),
    "keras_recurrent": Network(title="LSTM and GRU of Keras, as loops", task="word numbers to five logits", make=_recurrent),
}
"""What is exported, by the name of its folder."""


def main(names: list[str]) -> int:
    """Run the command line; see the module's text."""
    unknown = [name for name in names if name not in NETWORKS]
    if unknown:
        print(f"There is no network {', '.join(unknown)}. Known: {', '.join(NETWORKS)}.", file=sys.stderr)
        return 2
    for name in names or NETWORKS:
        network = NETWORKS[name]
        keras.utils.set_random_seed(0)
        model = network.make()
        signature = [tf.TensorSpec((1, *model.inputs[0].shape[1:]), tf.float32, name="x")]
        function = tf.function(lambda x, model=model: model(x, training=False), input_signature=signature)
        folder = FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        text = description(title=network.title, task=network.task, source="keras", licence="Apache-2.0")
        (folder / "model.toml").write_text(text, encoding="utf-8")
        with tempfile.TemporaryDirectory() as scratch:
            whole = Path(scratch) / "model.onnx"
            tf2onnx.convert.from_function(function, input_signature=signature, opset=OPSET, output_path=str(whole))
            print(f"{name}: {weightless.strip(whole, folder / 'tf2onnx.fp32.onnx.xz', keep_elements=KEEP_ELEMENTS)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
