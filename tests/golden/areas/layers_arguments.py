"""What Keras allows for arguments besides names and numbers: layers as activations, generators as seeds, outputs in
dictionaries; and options of layers whose formula stands by itself.
"""

import keras
from keras import initializers, layers, regularizers


def activation_layers():
    x = keras.Input((4, 3))
    h = layers.Dense(4, activation=layers.LeakyReLU(0.2))(x)
    outputs = [
        layers.Dense(3, activation=layers.Softmax(axis=1))(h),
        layers.Activation(layers.ELU(0.5))(h),
        layers.Conv1D(2, 2, activation=layers.ReLU(max_value=0.5, negative_slope=0.1))(h),
        layers.LSTM(2, activation=layers.LeakyReLU(0.1), return_sequences=True)(h),
        layers.EinsumDense("abc,cd->abd", output_shape=(None, 2), activation=layers.Activation("tanh"))(h),
    ]
    return keras.Model(x, outputs)


def flatten_channels_first():
    x = keras.Input((2, 3, 4))
    outputs = [
        layers.Flatten(data_format="channels_first")(layers.Dense(2)(x)),
        layers.Dense(2)(layers.Flatten(data_format="channels_first")(x)),
    ]
    return keras.Model(x, outputs)


def orthogonal():
    x = keras.Input((4,))
    rows = regularizers.OrthogonalRegularizer(0.3)
    columns = regularizers.OrthogonalRegularizer(factor=0.2, mode="columns")
    h = layers.Dense(3, kernel_regularizer=rows)(x)
    return keras.Model(x, layers.Dense(2, kernel_regularizer=columns)(h))


def seeds():
    generator = keras.random.SeedGenerator(7)
    x = keras.Input((4,))
    h = layers.Dense(3, kernel_initializer=initializers.GlorotNormal(seed=generator))(x)
    return keras.Model(x, layers.Dense(2, kernel_initializer=initializers.RandomUniform(seed=generator))(h))


def nested_outputs():
    x = keras.Input((4,), name="x")
    a, b, c = layers.Dense(2, name="a")(x), layers.Dense(3, name="b")(x), layers.Dense(1, name="c")(x)
    return keras.Model({"x": x}, {"z": a, "y": [b, {"u": c}]})


def named_outputs():
    u, v = keras.Input((4,), name="second"), keras.Input((3,), name="first")
    a, b = layers.Dense(2, name="a")(u), layers.Dense(3, name="b")(v)
    return keras.Model({"second": u, "first": v}, {"z": a, "y": b})


MODELS = [
    ("activation_layers", activation_layers, [(4, 3)]),
    ("flatten_channels_first", flatten_channels_first, [(2, 3, 4)]),
    ("orthogonal_regularizer", orthogonal, [(4,)]),
    ("seed_generators", seeds, [(4,)]),
    ("nested_outputs", nested_outputs, [(4,)]),
    ("named_outputs", named_outputs, [(3,), (4,)]),
]
