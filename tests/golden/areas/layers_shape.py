"""Layers that move, repeat, cut and pad, and those that draw noise at rate 0."""

import keras
from keras import layers


def sequences():
    x, v = keras.Input((6, 3)), keras.Input((4,))
    h, w = layers.Dense(3)(x), layers.Dense(2)(v)
    outputs = [
        layers.Cropping1D()(h),
        layers.Cropping1D((0, 2))(h),
        layers.Cropping1D((3, 0))(h),
        layers.ZeroPadding1D()(h),
        layers.ZeroPadding1D((0, 2))(h),
        layers.UpSampling1D()(h),
        layers.UpSampling1D(3)(h),
        layers.Permute((2, 1))(h),
        layers.RepeatVector(3)(w),
    ]
    return keras.Model([x, v], outputs)


def images():
    x = keras.Input((4, 5, 1))
    h = layers.Conv2D(1, 1)(x)
    outputs = [
        layers.Cropping2D()(h),
        layers.Cropping2D(1)(h),
        layers.Cropping2D((1, 2))(h),
        layers.Cropping2D(((0, 2), (3, 1)))(h),
        layers.UpSampling2D()(h),
        layers.UpSampling2D((1, 3))(h),
        layers.UpSampling2D((2, 3), interpolation="bilinear")(h),
        layers.UpSampling2D(2, interpolation="bicubic")(h),
        layers.UpSampling2D((3, 2), interpolation="lanczos3")(h),
        layers.Permute((3, 1, 2))(h),
    ]
    return keras.Model(x, outputs)


def volumes():
    x = keras.Input((3, 3, 3, 1))
    h = layers.Dense(1)(x)
    outputs = [
        layers.Cropping3D()(h),
        layers.Cropping3D(((0, 1), (2, 0), (1, 1)))(h),
        layers.Cropping3D((0, 1, 0))(h),
        layers.ZeroPadding3D()(h),
        layers.ZeroPadding3D(((0, 1), (2, 0), (1, 1)))(h),
        layers.ZeroPadding3D((0, 0, 1))(h),
        layers.UpSampling3D()(h),
        layers.UpSampling3D((1, 2, 1))(h),
    ]
    return keras.Model(x, outputs)


def channels_first():
    x, v = keras.Input((4, 5, 2)), keras.Input((3, 2, 3, 2))
    h, w = layers.Dense(2)(x), layers.Dense(2)(v)
    first = {"data_format": "channels_first"}
    outputs = [
        layers.Cropping2D(((1, 0), (0, 1)), **first)(h),
        layers.ZeroPadding2D(((1, 0), (0, 2)), **first)(h),
        layers.UpSampling2D((2, 1), interpolation="bilinear", **first)(h),
        layers.UpSampling2D((1, 2), **first)(h),
        layers.SpatialDropout2D(0.0, **first)(h),
        layers.Resizing(3, 3, crop_to_aspect_ratio=True, **first)(h),
        layers.CenterCrop(3, 1, **first)(h),
        layers.Cropping3D((0, 1, 0), **first)(w),
        layers.ZeroPadding3D((0, 1, 0), **first)(w),
        layers.UpSampling3D((1, 2, 1), **first)(w),
        layers.SpatialDropout3D(0.0, **first)(w),
    ]
    return keras.Model([x, v], outputs)


def rectified():
    x = keras.Input((3, 4))
    h = layers.Dense(4)(x)
    outputs = [
        layers.LeakyReLU()(h),
        layers.LeakyReLU(0.1)(h),
        layers.ELU()(h),
        layers.ELU(0.4)(h),
        layers.PReLU()(h),
        layers.PReLU(shared_axes=[1], alpha_regularizer="l1")(h),
        layers.PReLU(shared_axes=[1, 2], alpha_constraint="non_neg")(h),
    ]
    return keras.Model(x, outputs)


ACTIVATIONS = (
    "celu glu hard_shrink hard_sigmoid hard_silu hard_tanh log_sigmoid log_softmax mish selu silu soft_shrink softplus"
    " softsign sparse_plus sparse_sigmoid sparsemax squareplus tanh_shrink exponential gelu relu6"
).split()


def activated():
    x = keras.Input((4,))
    h = layers.Dense(4)(x)
    return keras.Model(x, [layers.Activation(name)(h) for name in ACTIVATIONS])


def silent():
    x, y, z = keras.Input((3, 2)), keras.Input((3, 2, 2)), keras.Input((2, 2, 2, 2))
    h, i, j = layers.Dense(2)(x), layers.Dense(2)(y), layers.Dense(2)(z)
    outputs = [
        layers.SpatialDropout1D(0.0, seed=3)(h),
        layers.SpatialDropout2D(0.0)(i),
        layers.SpatialDropout3D(0.0)(j),
        layers.GaussianNoise(0.0)(h),
        layers.GaussianDropout(0.0, seed=1)(h),
        layers.AlphaDropout(0.0, noise_shape=(None, 1, 2))(h),
    ]
    return keras.Model([x, y, z], outputs)


MODELS = [
    ("reshaping_sequences", sequences, [(6, 3), (4,)]),
    ("reshaping_images", images, [(4, 5, 1)]),
    ("reshaping_volumes", volumes, [(3, 3, 3, 1)]),
    ("reshaping_channels_first", channels_first, [(4, 5, 2), (3, 2, 3, 2)]),
    ("rectifiers", rectified, [(3, 4)]),
    ("activations", activated, [(4,)]),
    ("noise_at_rate_zero", silent, [(3, 2), (3, 2, 2), (2, 2, 2, 2)]),
]
