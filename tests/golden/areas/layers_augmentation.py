"""Layers that change images at random, as models whose draws are certain: their ranges hold one number."""

import keras
from keras import layers


def moved():
    x = keras.Input((7, 5, 2))
    turned = [
        layers.RandomRotation((0.1, 0.1), seed=3)(x),
        layers.RandomRotation((-0.3, -0.3), fill_mode="constant", fill_value=0.5)(x),
        layers.RandomZoom((0.2, 0.2), (-0.3, -0.3), fill_mode="nearest")(x),
        layers.RandomZoom((0.25, 0.25), interpolation="nearest")(x),
        layers.RandomTranslation((0.1, 0.1), (-0.2, -0.2), fill_mode="wrap")(x),
        layers.RandomTranslation((-0.45, -0.45), (0.6, 0.6))(x),
        layers.RandomCrop(7, 5)(x),
    ]
    return keras.Model(x, [layers.Conv2D(1, 2)(h) for h in turned])


def coloured():
    x = keras.Input((4, 5, 3))
    planes = layers.Permute((3, 1, 2))(x)
    values = {"value_range": (-3.0, 3.0)}
    h = [
        layers.Conv2D(1, 2)(layers.RandomContrast((-0.4, 0.4), **values)(x)),
        layers.Conv2D(1, 2)(layers.RandomBrightness((0.2, 0.2), **values)(x)),
        layers.Conv2D(1, 2)(layers.RandomBrightness((-0.3, -0.3), value_range=(1.0, -1.0))(x)),
        layers.Conv2D(1, 2)(layers.Permute((2, 3, 1))(
            layers.RandomContrast((-0.2, 0.2), data_format="channels_first", **values)(planes))),
        layers.Conv2D(1, 2)(layers.Permute((2, 3, 1))(
            layers.RandomRotation((0.15, 0.15), data_format="channels_first")(planes))),
    ]
    flipped = [layers.RandomFlip(mode, seed=7)(x) for mode in ("horizontal", "vertical", "horizontal_and_vertical")]
    return keras.Model(x, h + [layers.Dense(2)(layers.GlobalAveragePooling2D()(f)) for f in flipped])


MODELS = [
    ("augmentation_moves", moved, [(7, 5, 2)]),
    ("augmentation_colours", coloured, [(4, 5, 3)]),
]
