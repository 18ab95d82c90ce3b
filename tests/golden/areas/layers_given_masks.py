"""Masks that a call is given by name (`mask=`) for inputs that have one of their producer: the given one counts;
and those that Keras gives the calls of models by itself."""

import keras
from keras import layers, ops


def given():
    words, numbers = keras.Input((5,), dtype="int32"), keras.Input((5,))
    own = layers.Embedding(6, 4, mask_zero=True)(words)
    mask = ops.greater(numbers, 0.0)
    outputs = [
        layers.LSTM(3)(own, mask=mask),
        layers.Bidirectional(layers.GRU(2, return_sequences=True))(own, mask=mask),
        layers.GlobalAveragePooling1D()(own, mask=mask),
        layers.Attention()([own, own], mask=[mask, mask]),
        layers.SimpleRNN(3)(own),
    ]
    return keras.Model([words, numbers], outputs)


def given_to_models():
    words, numbers = keras.Input((5,), dtype="int32"), keras.Input((5,))
    embedding = layers.Embedding(6, 2, mask_zero=True)
    x = layers.Concatenate()([embedding(words), embedding(words)])
    normal = keras.Sequential([keras.Input((5, 4)), layers.BatchNormalization(), layers.Dense(3)])
    a, b = keras.Input((5, 4)), keras.Input((5, 3))
    both = keras.Model([a, b], layers.Concatenate()([layers.GRU(2)(a), layers.SimpleRNN(2)(b)]))
    last = keras.Sequential([keras.Input((5, 4)), layers.LSTM(2)])
    attended = layers.Attention()([x, x])
    return keras.Model(
        [words, numbers],
        [normal(attended), both([x, normal(x)]), last(x, mask=ops.greater(numbers, 0.0))],
    )


MODELS = [
    ("given_masks", given, [("int", (5,), 6), (5,)]),
    ("masks_given_to_models", given_to_models, [("int", (5,), 6), (5,)]),
]
