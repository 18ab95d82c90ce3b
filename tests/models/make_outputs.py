"""Writes what Keras' architectures give with weights that a hash of path and position fills: outputs.txt.

Run with Keras 3.15 on TensorFlow: `KERAS_BACKEND=tensorflow python make_outputs.py`. outputs_test.cpp computes the same
weights and the same images. One line each: name, settings, then the outputs row by row.
"""

import pathlib

import keras
import numpy as np
from keras.src.initializers import random_initializers

IMAGES = 2
CLASSES = 10

# Architecture, height, width, settings; "pixels" are images from 0 to 255, else from -1 to 1. "gain" makes kernels
# larger where activations would make all images alike, and smaller where they would enlarge every rounding.
MODELS = [
    ("MobileNet", 48, 65, {"alpha": 0.25, "gain": 1.3}),
    ("MobileNetV2", 48, 65, {"alpha": 0.35}),
    ("MobileNetV3Small", 48, 65, {"pixels": 1, "gain": 1.2}),
    ("MobileNetV3Large", 64, 64, {"alpha": 0.75, "minimalistic": 1, "pixels": 1}),
    ("ResNet50", 48, 65, {}),
    ("ResNet101", 48, 65, {"gain": 0.7}),
    ("ResNet152", 48, 65, {"gain": 0.6}),
    ("ResNet50V2", 48, 65, {}),
    ("ResNet101V2", 48, 65, {"gain": 0.7}),
    ("ResNet152V2", 48, 65, {"gain": 0.6}),
    ("VGG16", 32, 41, {}),
    ("VGG19", 32, 41, {}),
    ("Xception", 71, 80, {}),
    ("InceptionV3", 75, 80, {}),
    ("InceptionResNetV2", 75, 80, {}),
    ("DenseNet121", 48, 65, {}),
    ("DenseNet169", 48, 65, {}),
    ("DenseNet201", 48, 65, {}),
    ("EfficientNetB0", 48, 65, {"pixels": 1, "gain": 1.25}),
    ("EfficientNetB1", 48, 65, {"pixels": 1, "gain": 1.1}),
    ("EfficientNetB2", 48, 65, {"pixels": 1, "gain": 1.25}),
    ("EfficientNetB3", 48, 65, {"pixels": 1, "gain": 1.25}),
    ("EfficientNetB4", 48, 65, {"pixels": 1, "gain": 1.13}),
    ("EfficientNetB5", 48, 65, {"pixels": 1, "gain": 1.11}),
    ("EfficientNetB6", 48, 65, {"pixels": 1, "gain": 1.06}),
    ("EfficientNetB7", 48, 65, {"pixels": 1, "gain": 1.05}),
    ("EfficientNetV2B0", 48, 65, {"pixels": 1}),
    ("EfficientNetV2B1", 48, 65, {"pixels": 1, "gain": 0.9}),
    ("EfficientNetV2B2", 48, 65, {"pixels": 1, "gain": 0.9}),
    ("EfficientNetV2B3", 48, 65, {"pixels": 1, "gain": 0.9}),
    ("EfficientNetV2S", 48, 65, {"pixels": 1, "gain": 0.9}),
    ("EfficientNetV2M", 48, 65, {"pixels": 1, "gain": 0.9}),
    ("EfficientNetV2L", 48, 65, {"pixels": 1, "gain": 0.8}),
    ("NASNetMobile", 64, 65, {}),
    ("NASNetLarge", 64, 65, {}),
    ("ConvNeXtTiny", 48, 65, {"pixels": 1}),
    ("ConvNeXtSmall", 48, 65, {"pixels": 1}),
    ("ConvNeXtBase", 48, 65, {"pixels": 1}),
    ("ConvNeXtLarge", 48, 65, {"pixels": 1}),
    ("ConvNeXtXLarge", 48, 65, {"pixels": 1}),
]


def hashed(path, count):
    """`count` numbers in [-1, 1): the top 24 bits of splitmix64 from FNV-1a's hash of the path on."""
    start = 0xCBF29CE484222325
    for byte in path.encode():
        start = ((start ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    with np.errstate(over="ignore"):
        z = np.uint64(start) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(40)).astype(np.float32) / np.float32(1 << 23) - np.float32(1)


def filled(path, shape, gain):
    """(offset, scale) by the weight's name; kernels keep the size of what passes through them."""
    name = path.rsplit("/", 1)[-1]
    name = "variable" if name.startswith("variable_") else name
    count = int(np.prod(shape))
    u = hashed(path, count).reshape(shape)
    simple = {"gamma": (1.0, 0.1), "beta": (0.0, 0.1), "bias": (0.0, 0.1), "moving_mean": (0.0, 0.1),
              "moving_variance": (1.0, 0.2), "mean": (0.5, 0.1), "variance": (0.1, 0.02), "variable": (0.3, 0.1)}
    if name in simple:
        offset, scale = simple[name]
    elif len(shape) == 4 and shape[-1] == 1:  # depthwise
        offset, scale = 0.0, gain * np.sqrt(3.0 / (shape[0] * shape[1]))
    else:
        offset, scale = 0.0, gain * np.sqrt(6.0 / np.prod(shape[:-1]))
    return np.float32(offset) + np.float32(scale) * u


def make_images(height, width):
    """Patches of 16 x 16 pixels of one colour, and noise."""
    rows, columns = -(-height // 16), -(-width // 16)
    patches = hashed("patches", IMAGES * rows * columns * 3).reshape(IMAGES, rows, columns, 3)
    patches = patches.repeat(16, axis=1).repeat(16, axis=2)[:, :height, :width]
    noise = hashed("noise", IMAGES * height * width * 3).reshape(IMAGES, height, width, 3)
    return np.float32(0.75) * patches + np.float32(0.25) * noise


def line_of(name, height, width, settings):
    keras.backend.clear_session()
    options = {key: value for key, value in settings.items() if key not in ("pixels", "gain")}
    if "minimalistic" in options:
        options["minimalistic"] = bool(options["minimalistic"])
    model = getattr(keras.applications, name)(
        weights=None, input_shape=(height, width, 3), classes=CLASSES, classifier_activation=None, **options)
    for layer in model.layers:
        for weight in layer.weights:
            if weight.path.endswith("/count"):
                continue
            path = layer.name + "/" + weight.path.split(layer.name + "/", 1)[1]  # without NASNet's name scopes
            weight.assign(filled(path, tuple(weight.shape), settings.get("gain", 1)))
        if isinstance(layer, keras.layers.Normalization):
            layer.finalize_state()  # it computes with copies
    images = make_images(height, width)
    if "pixels" in settings:
        images = (images + np.float32(1)) * np.float32(127.5)
    outputs = model.predict(images, verbose=0)
    assert np.all(np.isfinite(outputs))
    print("%-20s largest %10.4g, between images %10.4g" % (
        name, np.abs(outputs).max(), np.abs(outputs[0] - outputs[1]).max()), flush=True)
    shown = ["height=%d" % height, "width=%d" % width] + ["%s=%g" % item for item in settings.items()]
    return "%s %s\t%s" % (name, " ".join(shown), " ".join("%.9g" % value for value in outputs.ravel()))


def main():
    random_initializers.VarianceScaling.__call__ = lambda self, shape, dtype=None: keras.ops.zeros(shape, dtype)
    lines = [line_of(*model) for model in MODELS]
    (pathlib.Path(__file__).parent / "outputs.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
