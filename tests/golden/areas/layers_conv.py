"""Convolutions over one, two and three axes, transposed, depthwise and separable ones."""

import keras
from keras import layers


def branches(shape, *heads):
    """One input, and each layer's output as an output of its own."""

    def make():
        inputs = keras.Input(shape)
        return keras.Model(inputs, [head()(inputs) for head in heads])

    return make


def of(cls, *args, **kwargs):
    return lambda: getattr(layers, cls)(*args, **kwargs)


CONV1D = (9, 3)
CONV2D = (5, 6, 2)
CONV3D = (4, 5, 3, 2)

MODELS = [
    (
        "conv1d",
        branches(
            CONV1D,
            of("Conv1D", 2, 3),
            of("Conv1D", 3, 4, strides=2, padding="same", activation="tanh"),
            of("Conv1D", 2, 2, dilation_rate=2, padding="causal", use_bias=False),
            of("Conv1D", 2, 3, strides=2, padding="causal", activation="gelu"),
            of("Conv1D", 3, 3, dilation_rate=3, kernel_regularizer="l2", bias_regularizer="l1"),
            of("Conv1D", 2, 1, kernel_constraint="non_neg", activity_regularizer="l2"),
        ),
        [CONV1D],
    ),
    (
        "conv1d_unknown_length",
        branches((None, 3), of("Conv1D", 2, 3, padding="same", strides=3), of("Conv1D", 2, 4)),
        [CONV1D],
        [(3, 2), (6, 2)],
    ),
    ("conv1d_groups", branches((6, 4), of("Conv1D", 6, 3, groups=2, padding="same")), [(6, 4)]),
    (
        "conv3d",
        branches(
            CONV3D,
            of("Conv3D", 2, 2),
            of("Conv3D", 2, [3, 2, 1], strides=[2, 2, 1], padding="same", activation="relu"),
            of("Conv3D", 1, 3, padding="same", use_bias=False, kernel_regularizer="l2"),
        ),
        [CONV3D],
    ),
    (
        "conv1d_transpose",
        branches(
            (4, 3),
            of("Conv1DTranspose", 2, 3),
            of("Conv1DTranspose", 2, 3, strides=2, padding="same", activation="tanh"),
            of("Conv1DTranspose", 2, 2, strides=3),
            of("Conv1DTranspose", 2, 4, strides=2, padding="same", use_bias=False),
            of("Conv1DTranspose", 2, 3, strides=2, output_padding=1),
        ),
        [(4, 3)],
    ),
    (
        "conv2d_transpose",
        branches(
            (3, 4, 2),
            of("Conv2DTranspose", 2, 3),
            of("Conv2DTranspose", 3, [4, 3], strides=2, padding="same", activation="sigmoid"),
            of("Conv2DTranspose", 1, 2, strides=[3, 1], padding="same", kernel_regularizer="l2"),
            of("Conv2DTranspose", 1, [2, 5], strides=[3, 2], activity_regularizer="l2"),
            of("Conv2DTranspose", 1, 3, strides=2, padding="same", output_padding=0),
            of("Conv2DTranspose", 1, [3, 5], strides=[2, 3], output_padding=[1, 2], use_bias=False),
        ),
        [(3, 4, 2)],
    ),
    (
        "conv2d_transpose_unknown_size",
        branches((None, None, 2), of("Conv2DTranspose", 2, 3, strides=2, padding="same")),
        [(3, 2, 2)],
        [(6, 4, 2)],
    ),
    (
        "conv3d_transpose",
        branches(
            (2, 3, 2, 2),
            of("Conv3DTranspose", 1, 2, strides=[1, 2, 2], padding="same", activation="elu"),
            of("Conv3DTranspose", 2, [2, 3, 1], strides=[3, 1, 1], use_bias=False),
        ),
        [(2, 3, 2, 2)],
    ),
    (
        "depthwise_conv1d",
        branches(
            CONV1D,
            of("DepthwiseConv1D", 3),
            of("DepthwiseConv1D", 4, strides=2, padding="same", depth_multiplier=2, activation="tanh"),
            of("DepthwiseConv1D", 2, dilation_rate=2, use_bias=False, depthwise_regularizer="l2"),
        ),
        [CONV1D],
    ),
    (
        "depthwise_conv2d",
        branches(
            CONV2D,
            of("DepthwiseConv2D", 3),
            of("DepthwiseConv2D", [2, 3], strides=2, padding="same", depth_multiplier=3, activation="relu"),
            of("DepthwiseConv2D", 3, dilation_rate=2, use_bias=False, padding="same"),
            of("DepthwiseConv2D", 2, strides=2, dilation_rate=2, padding="same", activity_regularizer="l2"),
            of("DepthwiseConv2D", 3, depthwise_constraint="non_neg", depthwise_regularizer="l2"),
        ),
        [CONV2D],
    ),
    (
        "separable_conv1d",
        branches(
            CONV1D,
            of("SeparableConv1D", 4, 3),
            of("SeparableConv1D", 2, 3, strides=2, padding="same", depth_multiplier=2, activation="silu"),
            of("SeparableConv1D", 2, 2, dilation_rate=2, use_bias=False, pointwise_regularizer="l2"),
        ),
        [CONV1D],
    ),
    (
        "separable_conv2d",
        branches(
            CONV2D,
            of("SeparableConv2D", 3, 3),
            of("SeparableConv2D", 2, [3, 2], strides=2, padding="same", depth_multiplier=2, activation="relu"),
            of("SeparableConv2D", 2, 2, dilation_rate=2, use_bias=False, depthwise_regularizer="l2"),
            of("SeparableConv2D", 2, 3, padding="same", pointwise_constraint="non_neg", activity_regularizer="l1"),
        ),
        [CONV2D],
    ),
    (
        "separable_channels_first",
        branches(
            (2, 5, 6),
            of("DepthwiseConv2D", 3, data_format="channels_first", activation="tanh"),
            # With strides Keras' own results on a CPU are not those of channels last (3.15).
            of("SeparableConv2D", 3, 2, padding="same", data_format="channels_first"),
        ),
        [(2, 5, 6)],
    ),
]
