"""Regularizers: the added loss and its gradient."""

import keras

from .common import Random, gradient, header, number, tensor, write_json

MATRICES = [
    ("OrthogonalRegularizer", {}),
    ("OrthogonalRegularizer", {"factor": 0.2, "mode": "rows"}),
    ("OrthogonalRegularizer", {"factor": 0.3, "mode": "columns"}),
]
CASES = [
    ("L1", {}),
    ("L1", {"l1": 0.3}),
    ("L2", {}),
    ("L2", {"l2": 0.2}),
    ("L1L2", {}),
    ("L1L2", {"l1": 0.1}),
    ("L1L2", {"l2": 0.4}),
    ("L1L2", {"l1": 0.05, "l2": 0.02}),
]


def generate(seed, out):
    cases = []
    for name, config in CASES + MATRICES:
        for shape in ((4, 3), (3, 5) if (name, config) in MATRICES else (2, 3, 2, 4)):
            w = Random(seed, "regularizers", name, str(config), str(shape)).normal(*shape)
            regularizer = getattr(keras.regularizers, name)(**config)
            value, (slope,) = gradient(lambda x: keras.ops.convert_to_tensor(regularizer(x)), [w])
            cases.append(
                {
                    "name": name,
                    "config": config,
                    "w": tensor(w),
                    "value": number(value),
                    "gradient": tensor(slope) if slope is not None else None,
                }
            )
    names = ["l1", "l2", "L1", "L2", "L1L2"]
    aliases = [
        {"name": n, "class": type(r).__name__, "config": {k: number(v) for k, v in r.get_config().items()}}
        for n in names
        for r in [keras.regularizers.get(n)]
    ]
    write_json(out / "regularizers.json", {**header(seed), "cases": cases, "names": aliases})
