"""What layers that change images at random make of given draws, and images moved by any transform."""

import keras
import numpy as np
from keras import layers

from .common import Random, header, tensor, write_json

ROWS, HEIGHT, WIDTH = 3, 5, 6
FILL_MODES = ("constant", "nearest", "wrap", "reflect")
CROPS = [(6, 6, 8, 4), (10, 4, 5, 8), (5, 9, 5, 4), (3, 3, 7, 7), (2, 9, 4, 3), (9, 2, 3, 4), (6, 5, 6, 5)]


def images(seed, *name):
    return Random(seed, "augmentation", *name).normal(ROWS, HEIGHT, WIDTH, 1)


def moved(seed, motion, layer, numbers, transformation):
    """`numbers`: what the layer draws, a row for each image."""
    x = images(seed, motion, layer.fill_mode, layer.interpolation)
    return {
        "motion": motion,
        "fill_mode": layer.fill_mode,
        "interpolation": layer.interpolation,
        "fill_value": layer.fill_value,
        "x": tensor(x),
        "numbers": tensor(numbers),
        "y": tensor(np.asarray(layer.transform_images(x, transformation))),
    }


def motions(seed):
    for i, mode in enumerate(FILL_MODES):
        how = {"fill_mode": mode, "fill_value": 0.75, "interpolation": ("bilinear", "nearest")[i % 2]}
        for other in (False, True):
            if other:
                how["interpolation"] = ("nearest", "bilinear")[i % 2]
            random = Random(seed, "augmentation", "draws", mode, str(other))
            degrees = random.uniform(ROWS, 1, low=-180.0, high=180.0)
            zoom = random.uniform(ROWS, 2, low=0.3, high=2.0)
            shift = random.uniform(ROWS, 2, low=-1.0, high=1.0)
            layer = layers.RandomRotation(1.0, **how)
            zeros = np.zeros(ROWS, "float32")
            matrix = layer._compute_affine_matrix(0.5, 0.5, degrees[:, 0], zeros, zeros, zeros + 1.0, zeros, zeros,
                                                  HEIGHT, WIDTH)
            yield moved(seed, "rotation", layer, degrees, {"rotation_matrix": matrix})
            yield moved(seed, "zoom", layers.RandomZoom(0.5, **how), zoom,
                        {"height_zoom": zoom[:, :1], "width_zoom": zoom[:, 1:]})
            pixels = np.stack([shift[:, 1] * WIDTH, shift[:, 0] * HEIGHT], 1).astype("float32")
            yield moved(seed, "translation", layers.RandomTranslation(0.5, 0.5, **how), shift,
                        {"translations": pixels})


def flips(seed):
    numbers = np.array([[0.25], [0.75], [0.5]], "float32")
    for mode in ("horizontal", "vertical", "horizontal_and_vertical"):
        x = images(seed, mode)
        y = layers.RandomFlip(mode).transform_images(x, {"flips": (numbers <= 0.5).reshape(ROWS, 1, 1, 1)})
        yield {"mode": mode, "x": tensor(x), "numbers": tensor(numbers), "y": tensor(np.asarray(y))}


def transforms(seed):
    """Far away, with perspective, and one for all images."""
    for mode in FILL_MODES:
        for interpolation in ("nearest", "bilinear"):
            random = Random(seed, "augmentation", "transform", mode, interpolation)
            numbers = random.normal(ROWS, 8)
            numbers[:, [2, 5]] *= 12.0
            numbers[:, 6:] *= 0.05
            for kind in ("each", "all"):
                t = numbers if kind == "each" else numbers[0]
                x = random.normal(ROWS, HEIGHT, WIDTH, 1)
                y = keras.ops.image.affine_transform(x, t, interpolation, mode, fill_value=-1.5)
                yield {"fill_mode": mode, "interpolation": interpolation, "transforms": tensor(t), "x": tensor(x),
                       "y": tensor(np.asarray(y))}


def crops(seed):
    """Of images that are not larger both ways nothing is drawn."""
    for sizes in CROPS:
        x = Random(seed, "augmentation", "crop", str(sizes)).normal(2, sizes[0], sizes[1], 1)
        y = layers.RandomCrop(*sizes[2:])(x, training=True)
        yield {"height": sizes[2], "width": sizes[3], "x": tensor(x), "y": tensor(np.asarray(y))}


def generate(seed, out):
    parts = {
        "motions": list(motions(seed)),
        "flips": list(flips(seed)),
        "transforms": list(transforms(seed)),
        "crops": list(crops(seed)),
    }
    write_json(out / "augmentation.json", {**header(seed), **parts})
