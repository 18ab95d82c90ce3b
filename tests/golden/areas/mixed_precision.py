"""Models under mixed_bfloat16, written by Keras: what each layer's policy is and in which dtype it returns; what they
predict, the losses of three steps and what the steps make of predictions and weights; and the same model, weights and
data in float32, which says how much the policy moves numbers, and so how far two programs that round at other places
may be apart.

The archives are deflated; they hold the time of writing, so that their bytes differ from run to run.
"""

import keras
import numpy as np
from keras import layers

from .common import Random, header, named, number, tensors, write_json
from .layer_models import ROWS, STEPS, data, deflate, rounded

RATE = 0.05


def convolutional():
    return keras.Sequential(
        [
            layers.Input((12, 12, 3)),
            layers.Conv2D(8, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.SeparableConv2D(12, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.DepthwiseConv2D(3, padding="same"),
            layers.BatchNormalization(momentum=0.9),
            layers.Activation("relu"),
            layers.Conv2DTranspose(6, 2, strides=2),
            layers.GlobalAveragePooling2D(),
            layers.Dense(5),
            layers.Activation("softmax", dtype="float32"),
        ],
        name="convolutional",
    )


def recurrent():
    words = keras.Input((9,), dtype="int32", name="words")
    x = layers.Embedding(40, 8, mask_zero=True)(words)
    x = layers.LSTM(7, return_sequences=True)(x)
    x = layers.GRU(6, return_sequences=True)(x)
    x = layers.Bidirectional(layers.LSTM(4, return_sequences=True))(x)
    x = layers.RNN([layers.LSTMCell(5), layers.GRUCell(4)])(x)
    return keras.Model(words, layers.Dense(3, dtype="float32")(x), name="recurrent")


def attention():
    x = keras.Input((7, 12), name="sequence")
    y = layers.MultiHeadAttention(3, 4)(x, x)
    y = layers.LayerNormalization()(layers.Add()([x, y]))
    z = layers.Dense(24, activation="gelu")(y)
    z = layers.Dense(12)(z)
    y = layers.LayerNormalization()(y + z)
    y = layers.GlobalAveragePooling1D()(y)
    return keras.Model(x, layers.Dense(4)(y), name="attention")


def nested():
    inner = keras.Sequential(
        [layers.Input((6,)), layers.Dense(8, activation="tanh"), layers.UnitNormalization()], name="inner"
    )
    x = keras.Input((5, 6), name="steps")
    y = layers.TimeDistributed(inner)(x)
    y = layers.GroupNormalization(groups=2)(y)
    y = layers.RMSNormalization()(y)
    y = layers.Conv1D(6, 3, dtype="float32", activation="relu")(y)
    y = layers.Flatten()(y) * 0.5
    y = layers.Dense(4, kernel_regularizer=keras.regularizers.L2(0.01))(y)
    return keras.Model(x, y, name="nested")


MODELS = [
    (convolutional, [(12, 12, 3)]),
    (recurrent, [("int", (9,), 40)]),
    (attention, [(7, 12)]),
    (nested, [(5, 6)]),
]


def steps(model, values, x, y):
    """Predictions, losses and weights of three steps from these values."""
    for weight, value in zip(model.weights, values):
        weight.assign(value)
    model.compile(optimizer=keras.optimizers.SGD(RATE), loss="mse")
    before = model.predict(x, batch_size=ROWS, verbose=0)
    losses = []
    for step in range(STEPS):
        rows = ROWS - 1 if step == STEPS - 1 else ROWS
        losses.append(number(model.train_on_batch(x[:rows], y[:rows])))
    return {
        "dtype": str(before.dtype),
        "prediction": rounded(tensors([before.astype("float32")])),
        "losses": losses,
        "trained": rounded(tensors([model.predict(x, batch_size=ROWS, verbose=0).astype("float32")])),
        "weights": rounded(named([w for w in model.weights if w.name != "seed_generator_state"])),
    }


def output_dtype(layer):
    output = layer.output
    return (output[0] if isinstance(output, (list, tuple)) else output).dtype


def made(make, policy):
    keras.backend.clear_session()
    keras.config.set_dtype_policy(policy)
    return make()


def case(seed, out, make, inputs):
    random = Random(seed, "mixed_precision", make.__name__)
    model = made(make, "mixed_bfloat16")
    values = []
    for weight in model.weights:
        low = 0.5 if weight.name in ("gamma", "moving_variance", "scale") else -0.5
        values.append(random.uniform(*weight.shape, low=low, high=low + 1.0))
    for weight, value in zip(model.weights, values):
        weight.assign(value)
    x = [data(random, spec) for spec in inputs][0]
    y = random.normal(ROWS, *model.output_shape[1:])
    name = "mixed_" + make.__name__
    model.compile(optimizer=keras.optimizers.SGD(RATE), loss="mse")
    model.save(out / f"{name}.keras")
    deflate(out / f"{name}.keras")
    if make is recurrent:
        model.save(out / f"{name}.h5")
        model.save_weights(out / f"{name}.weights.h5")
    entry = {
        "file": name,
        "layers": [
            [layer.name, layer.dtype_policy.name, layer.compute_dtype, layer.variable_dtype, output_dtype(layer)]
            for layer in model.layers
        ],
        "x": tensors([x]),
        "y": tensors([y]),
        "mixed": steps(model, values, x, y),
    }
    entry["float32"] = steps(made(make, "float32"), values, x, y)
    keras.config.set_dtype_policy("float32")
    return entry


def generate(seed, out):
    write_json(
        out / "mixed_precision.json", {**header(seed), "cases": [case(seed, out, *entry) for entry in MODELS]}
    )
