"""Ops by their values: what each function of keras.ops gives for chosen inputs, its gradients, and its model."""

import importlib
import json

import keras
import numpy as np
import tensorflow as tf

from .common import Random, header, tensor, tensors, write_json

FAMILIES = [  # areas/op_values_<name>.py -> op_values_<name>.json
    "arithmetic",
    "fft",
    "linalg",
]


def case(name, function, *inputs, gradient=True, model=True, tolerance=None):
    """A case of `function` of the inputs: arrays, or functions of a Random that make them.

    gradient: whether sums of the floating results are differentiated by the floating inputs.
    model: whether Keras makes a functional model of it, with all sizes known.
    tolerance: (absolute, relative), where float32 needs more than 1e-6 and 1e-5.
    """
    return {
        "case": name,
        "function": function,
        "inputs": inputs,
        "gradient": gradient,
        "model": model,
        "tolerance": tolerance,
    }


def as_list(values):
    return list(values) if isinstance(values, (list, tuple)) else [values]


def is_floating(array):
    return np.issubdtype(np.asarray(array).dtype, np.floating)


def gradients(function, arrays, random):
    """Upstream gradients of the floating results, and what the floating inputs get of them."""
    variables = [tf.Variable(a) if is_floating(a) else tf.constant(a) for a in arrays]
    with tf.GradientTape() as tape:
        results = as_list(function(*map(tf.convert_to_tensor, variables)))  # Keras' linalg takes no variables
        results = [y for y in results if is_floating(keras.ops.convert_to_numpy(y))]
        upstream = [random.normal(*y.shape) for y in results]
        total = sum(tf.reduce_sum(y * tf.cast(u, y.dtype)) for y, u in zip(results, upstream))
    found = tape.gradient(total, [v for v in variables if isinstance(v, tf.Variable)])
    return upstream, [None if g is None else tensor(tf.convert_to_tensor(g).numpy()) for g in found]


def model_of(function, arrays):
    keras.utils.clear_session()
    symbols = [keras.Input(batch_shape=a.shape, dtype=str(a.dtype)) for a in arrays]
    return json.loads(keras.Model(symbols, function(*symbols)).to_json())


def entry(family, seed, described):
    function = described["function"]
    random = Random(seed, "op_values", family, described["case"])
    arrays = [np.asarray(x(random) if callable(x) else x) for x in described["inputs"]]
    results = [keras.ops.convert_to_numpy(y) for y in as_list(function(*map(tf.constant, arrays)))]
    written = {"case": described["case"], "x": tensors(arrays), "y": tensors(results)}
    if described["tolerance"]:
        written["tolerance"] = list(described["tolerance"])
    if described["gradient"] and any(map(is_floating, arrays)):
        written["upstream"], written["gradients"] = gradients(function, arrays, random)
        written["upstream"] = tensors(written["upstream"])
    if described["model"]:
        written["model"] = model_of(function, arrays)
    return written


def generate(seed, out):
    for family in FAMILIES:
        module = importlib.import_module(f"areas.op_values_{family}")
        names = [one["case"] for one in module.CASES]
        assert len(names) == len(set(names)), f"{family}: a case twice"
        write_json(
            out / f"op_values_{family}.json",
            {**header(seed), "cases": [entry(family, seed, one) for one in module.CASES]},
        )
