"""Constants that layers and operations are called with.

A layer's constant has the rows of the batch, or one for all: models whose constants have as many rows as the batch are
called with whole batches only.
"""

import keras
import numpy as np
from keras import layers, ops


def constant(*shape):
    """Numbers that are not the same in two places."""
    return np.random.default_rng([2026, *shape]).normal(size=shape).astype("float32")


def merged():
    x = keras.Input((2, 3))
    h, c = layers.Dense(3)(x), constant(1, 2, 3)
    outputs = [
        layers.Add()([h, c]),
        layers.Subtract()([h, c]),
        layers.Multiply()([h, c, x]),
        layers.Average()([h, x, c]),
        layers.Maximum()([h, c]),
        layers.Minimum()([h, ops.convert_to_tensor(c)]),
        layers.Add()([h, constant(1, 1, 1)]),
        layers.Add()([h, layers.Dense(3, name="of_a_constant")(c)]),
    ]
    return keras.Model(x, outputs)


def masks():
    x = keras.Input((4, 6))
    h = layers.Dense(6)(x)
    causal = np.tril(np.ones((1, 4, 4), bool))
    outputs = [
        layers.MultiHeadAttention(2, 3)(h, h, attention_mask=causal),
        layers.MultiHeadAttention(2, 3)(h, x, attention_mask=causal[0].astype("int32")),
        layers.Softmax()(h, mask=constant(1, 4, 6) > -1) * 2.0,
    ]
    return keras.Model(x, outputs)


def rows():
    x = keras.Input((4, 6))
    h = layers.Dense(6)(x)
    steps = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 0, 1], [1, 1, 1, 0]], bool)
    outputs = [
        layers.Concatenate()([h, constant(4, 4, 2)]),
        layers.Concatenate(axis=1)([h, constant(4, 1, 6)]),
        layers.Dot(axes=2)([h, constant(4, 3, 6)]),
        layers.LSTM(3, return_sequences=True)(h, initial_state=[constant(4, 3), constant(4, 3) / 2]),
        layers.GRU(3)(h, initial_state=constant(4, 3)),
        layers.SimpleRNN(2)(h, mask=steps),
        layers.Bidirectional(layers.GRU(2))(h, initial_state=[constant(4, 2), -constant(4, 2)]),
        layers.LSTM(3)(h, None, steps),
        layers.GlobalAveragePooling1D()(h, mask=steps),
        layers.MultiHeadAttention(2, 3)(h, constant(4, 3, 6)),
        layers.Attention()([h, constant(4, 3, 6)]),
        layers.Attention()([h, h], mask=[steps, ~steps]),
    ]
    return keras.Model(x, outputs)


def operations():
    x = keras.Input((4, 3))
    h = layers.Dense(3)(x)
    c = constant(3)
    outputs = [
        h + c, h - c.astype("float64"), h * np.array([1, 2, 3]), h / np.float32(3), ops.add(c, h), ops.subtract(c, h),
        ops.matmul(h, constant(3, 2)), ops.where(np.array([True, False, True]), h, 0.0),
        ops.maximum(h, np.array([0.0, 1.0, -1.0])), ops.take(h, np.array([0, 2]), axis=1), h + ops.convert_to_tensor(c),
        h + constant(1), ops.cast(h > c, "float32"), ops.take(h, np.array([[1, 0], [2, 2]], "int32"), axis=-1),
    ]  # fmt: skip
    return keras.Model(x, outputs)


def operations_on_rows():
    x = keras.Input((3,))
    h = layers.Dense(3)(x)
    return keras.Model(x, [ops.concatenate([h, constant(4, 2)], axis=1), ops.concatenate([constant(4, 1), h], axis=-1)])


MODELS = [
    ("constant_merged", merged, [(2, 3)]),
    ("constant_masks", masks, [(4, 6)]),
    ("constant_rows", rows, [(4, 6)], None, True),
    ("constant_operations", operations, [(4, 3)]),
    ("constant_operations_on_rows", operations_on_rows, [(3,)], None, True),
]
