"""Recurrent layers: every output and the gradients of sum(output * upstream) with respect to inputs and weights,
with masks and initial states; and small models with their files, before and after steps of SGD."""

import keras
import numpy as np
import tensorflow as tf

from .common import Random, header, tensor, tensors, write_json


def inner(name, **config):
    return {"class": name, "config": config}


# (class, config, shape of the input, extras): "mask" draws a mask, "state" draws initial states.
def kinds(name):
    cases = [
        (name, {"units": 3}, (2, 4, 3), ""),
        (name, {"units": 1}, (1, 1, 1), ""),
        (name, {"units": 5, "return_sequences": True}, (3, 5, 2), ""),
        (name, {"units": 2, "return_sequences": True, "go_backwards": True}, (2, 3, 4), ""),
        (name, {"units": 3, "return_state": True}, (2, 4, 3), "state"),
        (name, {"units": 3, "return_sequences": True, "return_state": True, "use_bias": False}, (2, 3, 2), "state"),
        (name, {"units": 3}, (4, 6, 2), "mask"),
        (name, {"units": 3, "return_sequences": True, "return_state": True}, (4, 6, 2), "mask state"),
        (name, {"units": 3, "return_sequences": True, "go_backwards": True, "return_state": True}, (4, 5, 2), "mask"),
        (name, {"units": 2, "return_sequences": True, "zero_output_for_mask": True}, (3, 6, 2), "mask"),
        (name, {"units": 17, "return_sequences": True, "unroll": True}, (3, 4, 9), ""),
        (name, {"units": 4, "activation": "softsign", "return_sequences": True}, (2, 4, 3), "mask"),
        (name, {"units": 4, "activation": "silu"}, (2, 4, 3), ""),
        (name, {"units": 4, "activation": "linear", "return_sequences": True}, (2, 4, 3), "state"),
        (name, {"units": 4, "activation": "relu", "return_sequences": True}, (2, 4, 3), ""),
    ]
    if name != "SimpleRNN":
        cases += [
            (name, {"units": 3, "recurrent_activation": "hard_sigmoid", "return_sequences": True}, (2, 4, 3), ""),
            (name, {"units": 3, "recurrent_activation": "softplus", "activation": "elu"}, (2, 3, 3), "mask"),
        ]
    if name == "GRU":
        cases += [(n, {**c, "reset_after": False}, s, e) for n, c, s, e in cases]
    return cases


CELLS = [
    ("RNN", {"cell": inner("LSTMCell", units=3), "return_sequences": True}, (2, 4, 3), ""),
    ("RNN", {"cell": inner("GRUCell", units=3), "return_state": True}, (2, 4, 3), "mask"),
    ("RNN", {"cell": inner("SimpleRNNCell", units=3), "go_backwards": True}, (2, 4, 3), ""),
    (
        "RNN",
        {
            "cell": inner(
                "StackedRNNCells", cells=[inner("LSTMCell", units=3), inner("GRUCell", units=2), inner("LSTMCell", units=2)]
            ),
            "return_sequences": True,
        },
        (2, 4, 3),
        "mask",
    ),
    ("RNN", {"cell": inner("StackedRNNCells", cells=[inner("SimpleRNNCell", units=2)])}, (2, 3, 3), ""),
]

BIDIRECTIONAL = [
    ("Bidirectional", {"layer": inner(cell, units=3, return_sequences=sequences), "merge_mode": mode}, (2, 4, 3), extras)
    for cell, sequences, mode, extras in [
        ("LSTM", False, "concat", ""),
        ("LSTM", True, "concat", ""),
        ("LSTM", True, "sum", "mask"),
        ("GRU", True, "mul", ""),
        ("GRU", False, "ave", "mask"),
        ("SimpleRNN", True, None, "mask"),
        ("LSTM", False, None, ""),
    ]
] + [
    (
        "Bidirectional",
        {"layer": inner("LSTM", units=2, return_sequences=True, return_state=True), "merge_mode": "concat"},
        (2, 4, 3),
        "state",
    ),
] + [
    (
        "Bidirectional",
        {
            "layer": inner("LSTM", units=2, return_sequences=True),
            "backward_layer": inner("GRU", units=3, return_sequences=True, go_backwards=True),
        },
        (2, 4, 3),
        extras,
    )
    for extras in ("", "mask")
]

TIME = [
    ("TimeDistributed", {"layer": inner("Dense", units=3, activation="relu")}, (2, 4, 3), ""),
    ("TimeDistributed", {"layer": inner("Conv2D", filters=2, kernel_size=2)}, (2, 3, 4, 4, 2), ""),
    ("TimeDistributed", {"layer": inner("LSTM", units=2)}, (2, 3, 4, 2), ""),
    ("TimeDistributed", {"layer": inner("BatchNormalization")}, (4, 3, 2), ""),
]

CONV_LSTM = [
    ("ConvLSTM2D", config, shape, extras)
    for config, shape, extras in [
        ({"filters": 2, "kernel_size": 2}, (2, 3, 4, 5, 2), ""),
        ({"filters": 2, "kernel_size": 3, "padding": "same", "return_sequences": True}, (1, 3, 4, 4, 1), ""),
        ({"filters": 3, "kernel_size": [2, 3], "strides": 2, "return_state": True}, (2, 2, 6, 7, 1), ""),
        ({"filters": 2, "kernel_size": 2, "dilation_rate": 2, "use_bias": False, "return_sequences": True}, (1, 3, 5, 5, 2), ""),
        ({"filters": 2, "kernel_size": 2, "return_sequences": True, "go_backwards": True}, (3, 4, 3, 3, 1), "mask"),
    ]
]

EMBEDDING = [
    ("Embedding", {"input_dim": 7, "output_dim": 3}, (2, 5), ""),
    ("Embedding", {"input_dim": 5, "output_dim": 1, "mask_zero": True}, (3, 4), ""),
    ("Embedding", {"input_dim": 4, "output_dim": 6}, (3,), ""),
    ("Embedding", {"input_dim": 9, "output_dim": 2}, (2, 3, 2), ""),
]

MASKING = [
    ("Masking", {}, (3, 4, 2), "steps"),
    ("Masking", {"mask_value": -1.5}, (3, 4, 2), "steps"),
]


def build(name, config):
    values = {}
    for key, value in config.items():
        if isinstance(value, dict) and "class" in value:
            value = build(value["class"], value["config"])
        elif key == "cells":
            value = [build(v["class"], v["config"]) for v in value]
        values[key] = value
    return getattr(keras.layers, name)(**values)


def draw_mask(rng, rows, steps):
    """Holes in front, behind and between; the first row is masked everywhere, the last nowhere."""
    mask = rng.uniform(rows, steps) > 0.4
    mask[0] = False
    mask[-1] = True
    if rows > 2:
        mask[1, : steps // 2] = False
        mask[1, steps // 2 :] = True
    return mask


def draw_input(rng, name, config, shape, extras):
    if name == "Embedding":
        return rng.integers(*shape, high=config["input_dim"])
    x = rng.normal(*shape)
    if extras == "steps":
        x[rng.uniform(*shape[:2]) > 0.5] = config.get("mask_value", 0.0)
    return x


def set_weights(rng, layer):
    layer.set_weights([
        rng.uniform(*w.shape, low=0.5, high=1.5)
        if w.name in ("gamma", "moving_variance")
        else rng.normal(*w.shape, scale=0.4)
        for w in layer.weights
    ])


def state_sizes(name, config):
    if name == "Bidirectional":
        return 2 * state_sizes(config["layer"]["class"], config["layer"]["config"])
    return [config["units"]] * (2 if name == "LSTM" else 1)


def case(seed, name, config, shape, extras):
    rng = Random(seed, "recurrent", name, str(config), str(shape), extras)
    keras.backend.clear_session()
    layer = build(name, config)
    x = draw_input(rng, name, config, shape, extras)
    layer.build(shape)
    set_weights(rng, layer)
    before = [{"path": w.path, "trainable": bool(w.trainable), **tensor(w.numpy())} for w in layer.weights]
    mask = draw_mask(rng, *shape[:2]) if "mask" in extras else None
    states = [rng.normal(shape[0], s) for s in state_sizes(name, config)] if "state" in extras else []
    inputs = [tf.Variable(x)] + [tf.Variable(s) for s in states]
    arguments = {}
    if mask is not None:
        arguments["mask"] = tf.constant(mask)
    if states:
        arguments["initial_state"] = list(inputs[1:])
    with tf.GradientTape() as tape:
        outputs = layer(inputs[0] if name == "Embedding" else tf.convert_to_tensor(inputs[0]), **arguments)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        upstream = [rng.normal(*o.shape) for o in outputs]
        total = tf.add_n([tf.reduce_sum(o * u) for o, u in zip(outputs, upstream)])
    trainable = [w for w in layer.weights if w.trainable]
    sources = ([] if name == "Embedding" else inputs) + [w.value for w in trainable]
    slopes = [
        np.zeros(v.shape, "float32") if s is None else tf.convert_to_tensor(s).numpy()
        for v, s in zip(sources, tape.gradient(total, sources))
    ]
    count = len(sources) - len(trainable)
    made = keras.src.backend.get_keras_mask(outputs[0])
    return {
        "name": name,
        "config": config,
        "input": tensor(x),
        "mask": None if mask is None else tensor(mask.astype("int32")),
        "states": tensors(states),
        "weights": before,
        "outputs": tensors(o.numpy() for o in outputs),
        "output_mask": None if made is None else tensor(np.asarray(made).astype("int32")),
        "upstream": tensors(upstream),
        "input_gradients": tensors(slopes[:count]),
        "weight_gradients": tensors(slopes[count:]),
    }


def text_model():
    return keras.Sequential([
        keras.layers.Input((6,), dtype="int32"),
        keras.layers.Embedding(11, 4, mask_zero=True),
        keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True)),
        keras.layers.GRU(4, return_sequences=True),
        keras.layers.TimeDistributed(keras.layers.Dense(3, activation="tanh")),
        keras.layers.SimpleRNN(3),
        keras.layers.Dense(1),
    ])


def stacked_model():
    cells = [keras.layers.LSTMCell(3), keras.layers.GRUCell(4), keras.layers.LSTMCell(2)]
    return keras.Sequential([
        keras.layers.Input((6, 2)),
        keras.layers.Masking(),
        keras.layers.RNN(cells, return_sequences=True),
        keras.layers.LSTM(3, go_backwards=True),
        keras.layers.Dense(1),
    ])


def masked_sequences_model():
    return keras.Sequential([
        keras.layers.Input((6,), dtype="int32"),
        keras.layers.Embedding(11, 4, mask_zero=True),
        keras.layers.LSTM(3, return_sequences=True),
        keras.layers.Dense(1),
    ])


MODELS = {
    "recurrent_text": text_model,
    "recurrent_stacked": stacked_model,
    "recurrent_sequences": masked_sequences_model,
}


def model_case(seed, out, name):
    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)
    rng = Random(seed, "recurrent", name)
    model = MODELS[name]()
    for layer in model.layers:
        set_weights(rng, layer)
    if name == "recurrent_stacked":
        x = rng.normal(5, 6, 2)
        x[rng.uniform(5, 6) > 0.6] = 0.0
    else:
        x = rng.integers(5, 6, high=11)
        x[:, 4:][rng.uniform(5, 2) > 0.3] = 0
        x[0, 0] = 0
    y = rng.normal(5, 6, 1) if name == "recurrent_sequences" else rng.normal(5, 1)
    model.save_weights(out / f"{name}.weights.h5")
    before = model.predict(x, verbose=0)
    model.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mae"], run_eagerly=True)
    losses = [model.train_on_batch(x, y, return_dict=True) for _ in range(3)]
    return {
        "name": name,
        "x": tensor(x),
        "y": tensor(y),
        "prediction": tensor(before),
        "steps": [{k: float(f"{v:.9g}") for k, v in logs.items()} for logs in losses],
        "weights": [{"path": w.path, **tensor(w.numpy())} for w in model.weights],
        "prediction_after": tensor(model.predict(x, verbose=0)),
    }


def generate(seed, out):
    cases = kinds("LSTM") + kinds("GRU") + kinds("SimpleRNN") + CELLS + BIDIRECTIONAL + TIME + CONV_LSTM
    cases += EMBEDDING + MASKING
    write_json(
        out / "recurrent.json",
        {
            **header(seed),
            "cases": [case(seed, *c) for c in cases],
            "models": [model_case(seed, out, name) for name in MODELS],
        },
    )
