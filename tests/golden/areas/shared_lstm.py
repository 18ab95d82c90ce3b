"""One LSTM(64) over two inputs (100, 140, 256) of one-hot bytes: losses of ten steps of Adam on one batch, and how far
each weight went. Weights and data follow a formula (`draws`), since they are too many for a file."""

import keras
import numpy as np

from .common import header, number, write_json

BATCH, LENGTH, BYTES, UNITS, STEPS = 100, 140, 256, 64, 10


def mixed(first, count):
    """A hash of the numbers first, first + 1, ... (32 bits)."""
    x = np.arange(first, first + count, dtype=np.uint64) & 0xFFFFFFFF
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = ((x ^ (x >> shift)) * factor) & 0xFFFFFFFF
    return x ^ (x >> 16)


def draws(first, shape, scale):
    """In [-scale / 2, scale / 2), exact in float32 where scale is a power of two."""
    x = (mixed(first, int(np.prod(shape))) >> 8).astype("float64") / 2**24 - 0.5
    return (x * scale).astype("float32").reshape(shape)


def side(first):
    """Sixteen letters, one-hot."""
    letters = 97 + mixed(first, BATCH * LENGTH) % 16
    return np.eye(BYTES, dtype="float32")[letters.reshape(BATCH, LENGTH)]


def generate(seed, out):
    first = (seed % 1000) * 1000000
    a, b = keras.Input((LENGTH, BYTES)), keras.Input((LENGTH, BYTES))
    shared = keras.layers.LSTM(UNITS)
    both = keras.layers.concatenate([shared(a), shared(b)])
    model = keras.Model([a, b], keras.layers.Dense(3, activation="softmax")(both))
    bias = np.zeros(4 * UNITS, "float32")
    bias[UNITS : 2 * UNITS] = 1
    begin = [
        draws(first, (BYTES, 4 * UNITS), 0.25),
        draws(first + 100000, (UNITS, 4 * UNITS), 0.25),
        bias,
        draws(first + 200000, (2 * UNITS, 3), 0.5),
        np.zeros(3, "float32"),
    ]
    model.set_weights(begin)
    model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy")
    x = [side(first + 300000), side(first + 400000)]
    y = (mixed(first + 500000, BATCH) % 3).astype("int32")
    losses = [number(model.train_on_batch(x, y)) for _ in range(STEPS)]
    moved = [number(np.linalg.norm(w.astype("float64") - v)) for w, v in zip(model.get_weights(), begin)]
    write_json(out / "shared_lstm.json", {**header(seed), "first": first, "losses": losses, "moved": moved})
