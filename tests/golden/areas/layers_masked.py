"""Layers that count masked steps out: BatchNormalization's statistics, Softmax's sums."""

import keras
from keras import layers


def words(units):
    x = keras.Input((5,), dtype="int32")
    return x, layers.Embedding(4, units, mask_zero=True)(x)


def batch_normalization():
    x, h = words(3)
    outputs = [
        layers.BatchNormalization(momentum=0.6)(h),
        layers.BatchNormalization(momentum=0.6, center=False)(h),
        layers.BatchNormalization(momentum=0.6, scale=False)(h),
        layers.BatchNormalization(momentum=0.6, axis=1)(h),
        layers.ReLU()(layers.BatchNormalization(momentum=0.6)(h)),
    ]
    return keras.Model(x, outputs)


def frozen_batch_normalization():
    x, h = words(3)
    return keras.Model(x, layers.BatchNormalization(trainable=False)(h))


def softmax():
    x, rows, squares = keras.Input((5,), dtype="int32"), keras.Input((5,)), keras.Input((5, 3))
    kept, square = keras.ops.not_equal(x, 0), layers.Dense(5)(squares)
    outputs = [
        layers.Softmax()(layers.Dense(5)(rows), mask=kept),
        layers.Softmax(axis=(1, 2))(square, mask=keras.ops.expand_dims(kept, 2)),
        layers.Softmax()(square, mask=keras.ops.expand_dims(kept, 1)),
    ]
    return keras.Model([x, rows, squares], [layers.Flatten()(output) for output in outputs])


WORDS = [("int", (5,), 4)]
MODELS = [
    ("masked_batch_normalization", batch_normalization, WORDS),
    ("masked_batch_normalization_frozen", frozen_batch_normalization, WORDS),
    ("masked_softmax", softmax, WORDS + [(5,), (5, 3)]),
]
