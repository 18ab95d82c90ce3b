"""Merging layers: all kinds, with broadcasting, more than two inputs, and masks."""

import keras
from keras import layers

KINDS = (layers.Multiply, layers.Average, layers.Maximum, layers.Minimum, layers.Add)


def elementwise():
    a, b, c = keras.Input((3, 4)), keras.Input((3, 4)), keras.Input((3, 4))
    x, y, z = layers.Dense(4)(a), layers.Dense(4)(b), layers.Dense(4)(c)
    outputs = [kind()([x, y, z]) for kind in KINDS] + [layers.Subtract()([x, y])]
    return keras.Model([a, b, c], outputs)


def broadcast():
    a, b, c = keras.Input((3, 4)), keras.Input((1, 4)), keras.Input((4,))
    x, y, z = layers.Dense(4)(a), layers.Dense(4)(b), layers.Dense(4)(c)
    outputs = [kind()([x, y]) for kind in KINDS] + [kind()([z, x]) for kind in KINDS[:3]]
    return keras.Model([a, b, c], outputs + [layers.Subtract()([y, z])])


def masked():
    a, b = keras.Input((5,), dtype="int32"), keras.Input((5,), dtype="int32")
    x = layers.Embedding(6, 4, mask_zero=True)(a)
    y = layers.Embedding(6, 4, mask_zero=True)(b)
    z = layers.Embedding(6, 4)(b)
    outputs = [kind()([x, y]) for kind in KINDS]
    outputs += [kind()([x, z]) for kind in KINDS[:4]] + [layers.Minimum()([z, x])]
    return keras.Model([a, b], outputs + [layers.LSTM(2)(outputs[0])])


def dot():
    a, b, c, d = keras.Input((5,)), keras.Input((5,)), keras.Input((3, 5)), keras.Input((5, 2))
    e = keras.Input((2, 3, 5))
    x, y, z, w = layers.Dense(5)(a), layers.Dense(5)(b), layers.Dense(5)(c), layers.Dense(2)(d)
    v = layers.Dense(5)(e)
    outputs = [
        layers.Dot(axes=1)([x, y]),
        layers.Dot(axes=-1, normalize=True)([x, y]),
        layers.Dot(axes=(2, 1))([z, w]),
        layers.Dot(axes=(2, 1), normalize=True)([z, w]),
        layers.Dot(axes=(1, 2))([x, z]),
        layers.Dot(axes=(2, 1))([z, y]),
        layers.Dot(axes=(3, 2))([v, z]),
        layers.Dot(axes=(2, 1))([v, z]),
    ]
    return keras.Model([a, b, c, d, e], outputs)


MODELS = [
    ("merge", elementwise, [("distinct", (3, 4))] * 3),
    ("merge_broadcast", broadcast, [("distinct", (3, 4)), ("distinct", (1, 4)), ("distinct", (4,))]),
    ("merge_masked", masked, [("int", (5,), 6)] * 2),
    ("dot", dot, [(5,), (5,), (3, 5), (5, 2), (2, 3, 5)]),
]
