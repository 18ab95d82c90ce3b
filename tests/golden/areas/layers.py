"""Layers: output and the gradients of sum(output * upstream) with respect to inputs and weights."""

import keras
import numpy as np
import tensorflow as tf

from .common import Random, header, tensor, tensors, write_json

DENSE = (
    [("Dense", {"units": 3}, [(4, 5)])]
    + [
        ("Dense", {"units": 4, "activation": a}, [(3, 5)])
        for a in ("relu", "sigmoid", "tanh", "softmax", "gelu", "silu", "elu", "softplus", "leaky_relu")
    ]
    + [
        ("Dense", {"units": 3, "use_bias": False}, [(2, 5)]),
        ("Dense", {"units": 3, "activation": "relu"}, [(2, 3, 4)]),
        ("Dense", {"units": 1}, [(1, 1)]),
        ("Dense", {"units": 17, "activation": "relu"}, [(3, 19)]),
    ]
)

CONV = [
    ("Conv2D", config, [shape])
    for config, shape in [
        ({"filters": 3, "kernel_size": 3}, (2, 6, 5, 2)),
        ({"filters": 3, "kernel_size": 3, "padding": "same"}, (2, 5, 6, 2)),
        ({"filters": 2, "kernel_size": 3, "strides": 2, "padding": "same"}, (2, 6, 5, 3)),
        ({"filters": 2, "kernel_size": 3, "strides": 2, "padding": "valid"}, (1, 8, 7, 2)),
        ({"filters": 2, "kernel_size": [2, 4], "padding": "same"}, (1, 5, 6, 3)),
        ({"filters": 2, "kernel_size": [4, 2], "strides": [3, 2], "padding": "same"}, (1, 7, 8, 2)),
        ({"filters": 2, "kernel_size": 2}, (1, 4, 4, 1)),
        ({"filters": 4, "kernel_size": 1}, (2, 3, 4, 3)),
        ({"filters": 4, "kernel_size": 1, "strides": 2}, (1, 5, 6, 3)),
        ({"filters": 2, "kernel_size": 3, "dilation_rate": 2}, (1, 7, 8, 2)),
        ({"filters": 2, "kernel_size": 3, "dilation_rate": [2, 3], "padding": "same"}, (1, 6, 7, 2)),
        ({"filters": 6, "kernel_size": 3, "groups": 2, "padding": "same"}, (1, 4, 5, 4)),
        ({"filters": 4, "kernel_size": 3, "groups": 4, "strides": 2, "padding": "same"}, (1, 6, 5, 4)),
        ({"filters": 3, "kernel_size": 3, "activation": "relu", "use_bias": False}, (1, 5, 5, 2)),
        ({"filters": 3, "kernel_size": 5, "activation": "sigmoid", "padding": "same"}, (1, 7, 6, 1)),
        ({"filters": 2, "kernel_size": 3, "activation": "tanh"}, (2, 3, 3, 2)),
        ({"filters": 16, "kernel_size": 3, "padding": "same", "activation": "relu"}, (1, 4, 4, 16)),
        ({"filters": 2, "kernel_size": 7, "padding": "same"}, (1, 3, 4, 1)),
    ]
]

POOL = (
    [
        (name, config, [shape])
        for name in ("MaxPooling2D", "AveragePooling2D")
        for config, shape in [
            ({"pool_size": 2}, (2, 6, 4, 3)),
            ({"pool_size": 2}, (1, 5, 7, 2)),
            ({"pool_size": 2, "padding": "same"}, (1, 5, 7, 2)),
            ({"pool_size": 3, "strides": 2, "padding": "same"}, (1, 6, 7, 2)),
            ({"pool_size": 3, "strides": 2}, (1, 7, 6, 2)),
            ({"pool_size": 3, "strides": 1, "padding": "same"}, (1, 4, 5, 2)),
            ({"pool_size": 2, "strides": 3}, (1, 8, 7, 1)),
            ({"pool_size": [3, 1], "strides": [1, 2], "padding": "same"}, (1, 5, 6, 2)),
            ({"pool_size": [1, 2]}, (1, 3, 4, 2)),
        ]
    ]
    + [("MaxPooling2D", {}, [(1, 4, 4, 2)])]
    + [
        (name, config, [(2, 4, 3, 5)])
        for name in ("GlobalAveragePooling2D", "GlobalMaxPooling2D")
        for config in ({}, {"keepdims": True})
    ]
)

NORMALIZATION = [
    ("BatchNormalization", config, [shape])
    for config, shape in [
        ({}, (6, 4)),
        ({}, (3, 4, 3, 2)),
        ({"momentum": 0.9, "epsilon": 1e-5}, (2, 3, 3, 3)),
        ({"center": False}, (5, 3)),
        ({"scale": False}, (5, 3)),
        ({"center": False, "scale": False}, (2, 2, 3, 2)),
        ({"axis": 1}, (4, 3, 2)),
        ({}, (1, 2, 2, 3)),
        ({"momentum": 0.5}, (1, 3)),
    ]
]

ELEMENTWISE = [
    ("Activation", {"activation": "relu"}, [(3, 4)]),
    ("Activation", {"activation": "tanh"}, [(2, 3, 2)]),
    ("ReLU", {}, [(3, 4)]),
    ("ReLU", {"max_value": 0.75}, [(4, 5)]),
    ("ReLU", {"negative_slope": 0.2}, [(4, 5)]),
    ("ReLU", {"threshold": 0.3}, [(4, 5)]),
    ("ReLU", {"max_value": 0.9, "negative_slope": 0.1, "threshold": 0.2}, [(4, 5)]),
    ("Softmax", {}, [(3, 4)]),
    ("Softmax", {"axis": 1}, [(2, 3, 4)]),
    ("Softmax", {"axis": [1, 2]}, [(2, 3, 4)]),
    ("Rescaling", {"scale": 1 / 255.0}, [(2, 3, 3, 1)]),
    ("Rescaling", {"scale": 0.5, "offset": -1.0}, [(2, 3)]),
]

SHAPES = [
    ("Flatten", {}, [(2, 3, 4, 2)]),
    ("Flatten", {}, [(3, 5)]),
    ("Flatten", {}, [(4,)]),
    ("Reshape", {"target_shape": [4, 3]}, [(2, 12)]),
    ("Reshape", {"target_shape": [-1, 2]}, [(2, 3, 4)]),
    ("Reshape", {"target_shape": [2, 3, 2]}, [(3, 12)]),
    ("ZeroPadding2D", {}, [(2, 2, 3, 2)]),
    ("ZeroPadding2D", {"padding": 2}, [(1, 2, 2, 1)]),
    ("ZeroPadding2D", {"padding": [1, 0]}, [(1, 3, 2, 2)]),
    ("ZeroPadding2D", {"padding": [[1, 2], [0, 3]]}, [(1, 2, 3, 2)]),
]

MERGING = [
    ("Add", {}, [(2, 3), (2, 3)]),
    ("Add", {}, [(2, 3, 2), (2, 3, 2), (2, 3, 2)]),
    ("Add", {}, [(2, 3, 4), (2, 1, 4)]),
    ("Concatenate", {}, [(2, 3), (2, 1)]),
    ("Concatenate", {"axis": 1}, [(2, 3, 2), (2, 1, 2), (2, 2, 2)]),
    ("Concatenate", {"axis": -1}, [(2, 3, 2, 1), (2, 3, 2, 4)]),
    ("Concatenate", {"axis": 2}, [(1, 2, 3), (1, 2, 2)]),
]

DROPOUT = [("Dropout", {"rate": 0.0}, [(3, 4)])]
KINKS = [0.0, 0.2, 0.3, 0.75, 0.9]


def make_inputs(rng, name, config, shapes):
    arrays = [rng.distinct(*s, scale=2.0) if "Max" in name else rng.normal(*s) for s in shapes]
    if name in ("ReLU", "Activation"):
        for array in arrays:
            for kink in KINKS:
                array[np.abs(array - kink) < 0.01] += np.float32(0.03)
    return arrays


def make_weights(rng, layer):
    values = []
    for weight in layer.weights:
        if weight.name in ("gamma", "moving_variance"):
            values.append(rng.uniform(*weight.shape, low=0.5, high=1.5))
        else:
            values.append(rng.normal(*weight.shape, scale=0.5))
    layer.set_weights(values)


def case(seed, name, config, shapes, training):
    rng = Random(seed, "layers", name, str(config), str(shapes))
    layer = getattr(keras.layers, name)(**config)
    arrays = make_inputs(rng, name, config, shapes)
    layer.build([s for s in shapes] if len(shapes) > 1 else shapes[0])
    make_weights(rng, layer)
    before = [{"name": w.name, "trainable": bool(w.trainable), **tensor(w.numpy())} for w in layer.weights]
    inputs = [tf.Variable(a) for a in arrays]
    arguments = {"training": training} if name in ("BatchNormalization", "Dropout") else {}
    with tf.GradientTape() as tape:
        output = layer(list(inputs) if len(inputs) > 1 else inputs[0], **arguments)
        upstream = rng.normal(*output.shape)
        total = tf.reduce_sum(output * upstream)
    trainable = [w for w in layer.weights if w.trainable]
    slopes = tape.gradient(total, inputs + [w.value for w in trainable])
    result = {
        "name": name,
        "config": config,
        "training": training,
        "inputs": tensors(arrays),
        "weights": before,
        "output": tensor(output.numpy()),
        "upstream": tensor(upstream),
        "input_gradients": tensors(s.numpy() for s in slopes[: len(inputs)]),
        "weight_gradients": [
            {"name": w.name, **tensor(s.numpy())} for w, s in zip(trainable, slopes[len(inputs) :])
        ],
    }
    if training and name == "BatchNormalization":
        result["weights_after"] = [{"name": w.name, **tensor(w.numpy())} for w in layer.weights]
    if name == "Reshape":
        result["computed_shape"] = list(layer.compute_output_shape((None, *shapes[0][1:])))
    return result


def generate(seed, out):
    cases = [
        case(seed, *c, False)
        for c in DENSE + CONV + POOL + NORMALIZATION + ELEMENTWISE + SHAPES + MERGING + DROPOUT
    ]
    cases += [case(seed, *c, True) for c in NORMALIZATION + DROPOUT]
    write_json(out / "layers.json", {**header(seed), "cases": cases})
