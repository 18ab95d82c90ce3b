"""Constraints on matrices and convolution kernels."""

import keras
import numpy as np

from .common import Random, header, tensor, write_json

CASES = [
    ("NonNeg", {}, (4, 3)),
    ("NonNeg", {}, (5,)),
    ("MaxNorm", {}, (4, 3)),
    ("MaxNorm", {"max_value": 0.5}, (4, 3)),
    ("MaxNorm", {"max_value": 1.0, "axis": 1}, (4, 3)),
    ("MaxNorm", {"max_value": 1.0, "axis": [0, 1, 2]}, (2, 3, 2, 4)),
    ("MaxNorm", {"max_value": 0.7}, (6,)),
    ("UnitNorm", {}, (4, 3)),
    ("UnitNorm", {"axis": 1}, (4, 3)),
    ("UnitNorm", {"axis": [0, 1, 2]}, (2, 3, 2, 4)),
    ("MinMaxNorm", {}, (4, 3)),
    ("MinMaxNorm", {"min_value": 0.5, "max_value": 1.5, "rate": 0.3}, (4, 3)),
    ("MinMaxNorm", {"min_value": 0.1, "max_value": 0.2, "axis": 1}, (4, 3)),
    ("MinMaxNorm", {"min_value": 2.0, "max_value": 3.0, "axis": [0, 1, 2]}, (2, 3, 2, 4)),
]


def generate(seed, out):
    cases = []
    for name, config, shape in CASES:
        rng = Random(seed, "constraints", name, str(config), str(shape))
        w = rng.normal(*shape, scale=1.5)
        if len(shape) > 1:
            w[..., 0] = 0.0  # a column of norm zero
        result = np.asarray(getattr(keras.constraints, name)(**config)(keras.ops.convert_to_tensor(w)))
        cases.append({"name": name, "config": config, "w": tensor(w), "result": tensor(result)})
    names = [
        "max_norm",
        "non_neg",
        "unit_norm",
        "MaxNorm",
        "NonNeg",
        "UnitNorm",
        "MinMaxNorm",
        "min_max_norm",
    ]
    aliases = [{"name": n, "class": type(keras.constraints.get(n)).__name__} for n in names]
    write_json(out / "constraints.json", {**header(seed), "cases": cases, "names": aliases})
