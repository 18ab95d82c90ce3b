"""Pooling of windows and of everything, over one, two and three axes; means over what a mask leaves."""

import keras
from keras import layers


def pooled(shape, *heads):
    """Each layer on top of a trained one, so that gradients go through it. The sum keeps it from mapping all
    values to nearly one, where rounding would make ties."""

    def make():
        inputs = keras.Input(shape)
        x = layers.Add()([inputs, layers.Dense(shape[-1], name="mixed")(inputs)])
        return keras.Model(inputs, [head()(x) for head in heads])

    return make


def of(cls, *args, **kwargs):
    return lambda: getattr(layers, cls)(*args, **kwargs)


def windows(kind, axes):
    """Several windows; `axes` 1 to 3."""
    name = f"{kind}Pooling{axes}D"
    odd = [3, 2, 3][:axes]
    step = [2, 1, 2][:axes]
    first = [of(name)] if kind == "Max" else []
    return first + [
        of(name, 2),
        of(name, 3, strides=2, padding="same"),
        of(name, odd, strides=step),
        of(name, odd, strides=1, padding="same"),
    ]


def everything(axes):
    return [
        of(f"Global{kind}Pooling{axes}D", keepdims=keepdims)
        for kind in ("Max", "Average")
        for keepdims in (False, True)
    ]


def masked():
    words = keras.Input((6,), dtype="int32")
    steps = keras.Input((5, 2))
    x = layers.Embedding(4, 3, mask_zero=True)(words)
    return keras.Model(
        [words, steps],
        [
            layers.GlobalAveragePooling1D()(x),
            layers.GlobalAveragePooling1D(keepdims=True)(x),
            layers.GlobalAveragePooling1D()(layers.Dense(2)(layers.Masking(0.0)(layers.ReLU()(steps)))),
            layers.GlobalMaxPooling1D()(x),
        ],
    )


SHAPES = {1: (7, 2), 2: (5, 6, 2), 3: (4, 5, 3, 1)}

MODELS = (
    [
        (f"{kind.lower()}_pooling{axes}d", pooled(SHAPES[axes], *windows(kind, axes)), [SHAPES[axes]])
        for kind in ("Max", "Average")
        for axes in (1, 2, 3)
    ]
    + [(f"global_pooling{axes}d", pooled(SHAPES[axes], *everything(axes)), [SHAPES[axes]]) for axes in (1, 2, 3)]
    + [
        (
            "pooling_unknown_size",
            pooled((None, None, 2), of("MaxPooling2D", 2), of("GlobalAveragePooling2D")),
            [(4, 5, 2)],
            [(2, 2, 2), (2,)],
        ),
        (
            "pooling_channels_first",
            pooled(
                (2, 4, 5),
                of("MaxPooling2D", 2, data_format="channels_first"),
                of("AveragePooling2D", 3, strides=2, padding="same", data_format="channels_first"),
                of("GlobalAveragePooling2D", data_format="channels_first"),
                of("GlobalMaxPooling2D", data_format="channels_first", keepdims=True),
            ),
            [(2, 4, 5)],
        ),
        ("masked_pooling", masked, [("int", (6,), 4), (5, 2)]),
    ]
)
