"""Preprocessing layers inside of models."""

import keras
import numpy as np
from keras import layers


def categories():
    words, one = keras.Input((4,), dtype="int32"), keras.Input((1,), dtype="int32")
    weights = keras.Input((4,))
    outputs = [
        layers.CategoryEncoding(7, output_mode="one_hot")(words),
        layers.CategoryEncoding(num_tokens=6, output_mode="one_hot")(one),
        layers.Dense(2)(layers.CategoryEncoding(6)(words)),
        layers.Dense(2)(layers.CategoryEncoding(6, output_mode="count")(words)),
        layers.Dense(2)(layers.CategoryEncoding(6, output_mode="count")(words, count_weights=weights)),
    ]
    return keras.Model([words, one, weights], outputs)


def bins():
    x = keras.Input((3,))
    edges = [-1.0, 0.0, 0.5, 2.0]
    adapted = layers.Discretization(num_bins=4, output_mode="one_hot")
    adapted.adapt(np.random.default_rng(5).normal(size=(500, 3)).astype("float32"))
    outputs = [
        layers.Dense(2)(layers.Discretization(edges, output_mode="one_hot")(x)),
        layers.Dense(2)(layers.Discretization(edges, output_mode="multi_hot")(x)),
        layers.Dense(2)(layers.Discretization(bin_boundaries=edges, output_mode="count")(x)),
        layers.Embedding(5, 2)(layers.Discretization(edges)(x)),
        layers.Dense(2)(adapted(x)),
    ]
    return keras.Model(x, outputs)


def resized(interpolation):
    def make():
        x = keras.Input((7, 5, 2))
        h = layers.Conv2D(2, 1)(x)
        more = {"antialias": True} if interpolation in ("bilinear", "bicubic", "lanczos3", "lanczos5") else {}
        outputs = [
            layers.Resizing(4, 8, interpolation=interpolation)(h),
            layers.Resizing(3, 3, interpolation=interpolation, **more)(h),
            layers.Resizing(9, 2, interpolation=interpolation, **more)(h),
            layers.Resizing(7, 5, interpolation=interpolation)(h),
        ]
        return keras.Model(x, outputs)

    return make


def cut():
    x = keras.Input((7, 5, 2))
    h = layers.Conv2D(2, 1)(x)
    outputs = [
        layers.Resizing(4, 4, crop_to_aspect_ratio=True)(h),
        layers.Resizing(6, 3, crop_to_aspect_ratio=True)(h),
        layers.Resizing(4, 6, pad_to_aspect_ratio=True, fill_value=0.5)(h),
        layers.Resizing(9, 4, pad_to_aspect_ratio=True)(h),
        layers.CenterCrop(3, 2)(h),
        layers.CenterCrop(7, 4)(h),
        layers.CenterCrop(8, 3)(h),
        layers.CenterCrop(4, 9)(h),
    ]
    return keras.Model(x, outputs)


RESIZED = ("bilinear", "bicubic", "lanczos3", "lanczos5")

MODELS = [
    ("category_encoding", categories, [("int", (4,), 6), ("int", (1,), 6), (4,)]),
    ("discretization", bins, [(3,)]),
    ("center_crop", cut, [(7, 5, 2)]),
] + [(f"resizing_{name}", resized(name), [(7, 5, 2)]) for name in RESIZED]
