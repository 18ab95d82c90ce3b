"""Masks that a call is given by name (`mask=`) for inputs that have one of their producer: the given one counts."""

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


MODELS = [("given_masks", given, [("int", (5,), 6), (5,)])]
