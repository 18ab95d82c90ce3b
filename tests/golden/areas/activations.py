"""Activations at chosen and random points, with gradients away from kinks."""

import keras
import numpy as np

from .common import Random, gradient, header, number, tensor, write_json

POINTS = [
    0.0,
    1e-30,
    1e-8,
    1e-4,
    0.1,
    0.5,
    1.0,
    2.0,
    2.9999,
    3.0,
    3.0001,
    5.9999,
    6.0,
    6.0001,
    10.0,
    20.0,
    50.0,
    88.0,
    100.0,
    1e4,
]

CASES = [
    ("relu", {}),
    ("relu", {"negative_slope": 0.1}),
    ("relu", {"max_value": 4.0}),
    ("relu", {"threshold": 0.75}),
    ("relu", {"negative_slope": 0.3, "max_value": 2.5, "threshold": 0.5}),
    ("sigmoid", {}),
    ("tanh", {}),
    ("linear", {}),
    ("relu6", {}),
    ("gelu", {}),
    ("gelu", {"approximate": True}),
    ("silu", {}),
    ("elu", {}),
    ("elu", {"alpha": 0.4}),
    ("leaky_relu", {}),
    ("leaky_relu", {"negative_slope": 0.05}),
    ("softplus", {}),
    ("exponential", {}),
    ("selu", {}),
    ("softsign", {}),
    ("hard_sigmoid", {}),
    ("hard_silu", {}),
    ("mish", {}),
    ("log_sigmoid", {}),
    ("celu", {}),
    ("celu", {"alpha": 0.4}),
    ("hard_tanh", {}),
    ("tanh_shrink", {}),
    ("soft_shrink", {}),
    ("soft_shrink", {"threshold": 0.75}),
    ("hard_shrink", {}),
    ("hard_shrink", {"threshold": 0.75}),
    ("threshold", {"threshold": 0.75, "default_value": -2.0}),
    ("squareplus", {}),
    ("squareplus", {"b": 0.5}),
    ("sparse_plus", {}),
    ("sparse_sigmoid", {}),
]
ROW_CASES = [
    ("softmax", {}),
    ("softmax", {"axis": 1}),
    ("softmax", {"axis": 0}),
    ("log_softmax", {}),
    ("log_softmax", {"axis": 1}),
    ("glu", {}),
    ("glu", {"axis": 2}),
    ("sparsemax", {}),
    ("sparsemax", {"axis": 1}),
]
ALIASES = {"swish": "silu", "hard_swish": "hard_silu"}


def smooth_points(rng):
    """Random points at least 0.01 away from every place where a derivative of some activation jumps."""
    values = rng.uniform(64, low=-8, high=8)
    for kink in (-3.0, -1.0, -0.75, -0.5, 0.0, 0.5, 0.75, 1.0, 2.5, 3.0, 4.0, 6.0):
        near = np.abs(values - kink) < 0.01
        values[near] += np.float32(0.02)
    return values


def elementwise(seed):
    points = np.array([-p for p in reversed(POINTS)] + POINTS, dtype="float32")
    for name, config in CASES:
        function = getattr(keras.activations, name)
        rng = Random(seed, "activations", name, str(config))
        smooth, upstream = smooth_points(rng), rng.normal(64)
        # In float64: in float32 TensorFlow's 1 + tanh(x) of gelu is 0 long before its slope is.
        out, (slope,) = gradient(lambda x: function(x, **config), [smooth.astype("float64")], upstream)
        yield {
            "name": name,
            "config": config,
            "x": tensor(points),
            "y": tensor(np.asarray(function(points, **config))),
            "smooth_x": tensor(smooth),
            "smooth_y": tensor(out.astype("float32")),
            "upstream": tensor(upstream),
            "gradient": tensor(slope.astype("float32")),
        }


def rows(seed):
    for name, config in ROW_CASES:
        function = getattr(keras.activations, name)
        rng = Random(seed, "activations", name, str(config))
        x = rng.normal(3, 5, 4, scale=2.0)
        x[0, 0] = [1000.0, 0.0, -1000.0, 998.5]
        x[0, 1] = [-1e4, -1e4, -1e4, -1e4]
        upstream = rng.normal(*function(x, **config).shape)
        out, (slope,) = gradient(lambda v: function(v, **config), [x], upstream)
        yield {
            "name": name,
            "config": config,
            "x": tensor(x),
            "y": tensor(out),
            "upstream": tensor(upstream),
            "gradient": tensor(slope),
        }


def generate(seed, out):
    aliases = [{"alias": a, "name": keras.activations.get(a).__name__} for a in ALIASES]
    assert all(ALIASES[a["alias"]] == a["name"] for a in aliases)
    write_json(
        out / "activations.json",
        {
            **header(seed),
            "smallest_step": number(np.finfo("float32").eps),
            "elementwise": list(elementwise(seed)),
            "rows": list(rows(seed)),
            "aliases": aliases,
        },
    )
