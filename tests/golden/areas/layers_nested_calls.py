"""Models that are called with dictionaries: by the names of their inputs, and by those of their own dictionary."""

import keras
from keras import layers


def inside(nest, name):
    a, b = keras.Input((3, 2), name="z_first"), keras.Input((3, 3), name="a_second")
    h = layers.Concatenate()([a, layers.Dense(3)(b)])
    return keras.Model(nest(a, b), layers.LSTM(2)(h), name=name)


def dictionaries():
    words, y = keras.Input((3,), dtype="int32"), keras.Input((3, 3))
    x = layers.Embedding(5, 2, mask_zero=True)(words)
    listed = inside(lambda a, b: [a, b], "listed")
    keyed = inside(lambda a, b: {"p": a, "c": b}, "keyed")
    deep = inside(lambda a, b: {"p": [a], "c": {"q": b}}, "deep")
    return keras.Model(
        [words, y],
        [
            listed({"a_second": y, "z_first": x}),
            keyed({"p": x, "c": y}),
            deep({"p": [x], "c": {"q": y}}),
        ],
    )


MODELS = [("called_with_dictionaries", dictionaries, [("int", (3,), 5), (3, 3)])]
