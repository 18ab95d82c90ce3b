"""Normalizing layers. A Dense or Conv2D in front lets gradients through them count."""

import keras
from keras import layers


def rows():
    x = keras.Input((3, 4))
    h = layers.Dense(4)(x)
    outputs = [
        layers.LayerNormalization()(h),
        layers.LayerNormalization(axis=1, epsilon=1e-5)(h),
        layers.LayerNormalization(axis=[1, 2])(h),
        layers.LayerNormalization(center=False, gamma_regularizer="l2")(h),
        layers.LayerNormalization(scale=False)(h),
        layers.LayerNormalization(center=False, scale=False)(h),
        layers.LayerNormalization(axis=[1, 2], rms_scaling=True)(h),
    ]
    return keras.Model(x, outputs)


def rms_and_unit():
    x = keras.Input((3, 4))
    h = layers.Dense(4)(x)
    outputs = [
        layers.RMSNormalization()(h),
        layers.RMSNormalization(axis=[1, 2], epsilon=1e-3)(h),
        layers.UnitNormalization()(h),
        layers.UnitNormalization(axis=1)(h),
        layers.UnitNormalization(axis=[1, 2])(h),
    ]
    return keras.Model(x, outputs)


def groups():
    images, steps, vectors = keras.Input((3, 4, 6)), keras.Input((None, 8)), keras.Input((6,))
    h, s, v = layers.Conv2D(6, 1)(images), layers.Dense(8)(steps), layers.Dense(6)(vectors)
    outputs = [
        layers.GroupNormalization(groups=2)(h),
        layers.GroupNormalization(groups=3, scale=False, epsilon=1e-5)(h),
        layers.GroupNormalization(groups=-1)(h),
        layers.GroupNormalization(groups=1, center=False)(h),
        layers.GroupNormalization(groups=2, axis=2)(h),
        layers.GroupNormalization(groups=4)(s),
        layers.GroupNormalization(groups=3)(v),
    ]
    return keras.Model([images, steps, vectors], outputs)


def given_and_adapted():
    x = keras.Input((2, 3))
    h = layers.Dense(3)(x)
    outputs = [
        layers.Normalization()(h),
        layers.Normalization(axis=1)(h),
        layers.Normalization(axis=(1, 2))(h),
        layers.Normalization(axis=None)(h),
        layers.Normalization(invert=True)(h),
        layers.Normalization(mean=[0.5, -1.0, 2.0], variance=[1.0, 4.0, 0.25])(h),
        layers.Normalization(axis=None, mean=0.5, variance=2.0)(h),
        layers.Normalization(mean=1.5, variance=0.0, invert=True)(h),
    ]
    return keras.Model(x, outputs)


def given_along_axes():
    x = keras.Input((2, 3))
    planes = layers.Reshape((2, 3, 1))(layers.Dense(3)(x))
    square, column = [[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]], [[0.5], [-1.0]]
    outputs = [
        layers.Normalization(axis=(1, 2), mean=square, variance=[[1.0, 4.0, 0.25], [2.0, 1.0, 0.5]])(x),
        layers.Normalization(axis=(2, 1), mean=[0.5, -1.0, 2.0], variance=[1.0, 4.0, 0.25])(x),
        layers.Normalization(axis=(1, 2), mean=column, variance=[[1.0], [4.0]])(x),
        layers.Normalization(axis=(1, -1), mean=column, variance=[[1.0], [4.0]], invert=True)(planes),
        layers.Normalization(axis=(1, 2), mean=square, variance=square)(planes),
        layers.Normalization(axis=1, mean=[0.5, 2.0], variance=[1.0, 4.0])(planes),
    ]
    return keras.Model(x, outputs)


def masked():
    words = keras.Input((5,), dtype="int32")
    x = layers.Embedding(7, 4, mask_zero=True)(words)
    between = [
        layers.LayerNormalization(),
        layers.GroupNormalization(groups=2),
        layers.UnitNormalization(),
        layers.Normalization(mean=0.1, variance=0.5),
        layers.LeakyReLU(),
        layers.PReLU(shared_axes=[1]),
        layers.SpatialDropout1D(0.0),
        layers.GaussianNoise(0.0),
    ]
    return keras.Model(words, [layers.SimpleRNN(2)(layer(x)) for layer in between])


MODELS = [
    ("layer_normalization", rows, [(3, 4)]),
    ("rms_and_unit_normalization", rms_and_unit, [(3, 4)]),
    ("normalization_along_axes", given_along_axes, [(2, 3)]),
    ("group_normalization", groups, [(3, 4, 6), (5, 8), (6,)]),
    ("masks_pass_through", masked, [("int", (5,), 7)]),
    ("normalization", given_and_adapted, [(2, 3)]),
]
