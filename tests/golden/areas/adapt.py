"""What Normalization and Discretization learn from data, whole and batch by batch."""

import keras
import numpy as np

from .common import Random, header, tensor, write_json

NORMALIZATION = [
    ({}, (40, 3)),
    ({"axis": None}, (40, 3)),
    ({"axis": 1}, (20, 4, 3)),
    ({"axis": [1, 2]}, (20, 4, 3)),
    ({"axis": -1}, (6, 5, 4, 2)),
]
DISCRETIZATION = [
    ({"num_bins": 4}, (300, 2)),
    ({"num_bins": 3}, (7,)),
    ({"num_bins": 10, "epsilon": 0.05}, (1000,)),
    ({"num_bins": 5, "epsilon": 0.2}, (64, 3)),
    ({"num_bins": 1}, (50,)),
]
BATCH = 16


def batches(x):
    return [x[first : first + BATCH] for first in range(0, len(x), BATCH)]


def normalization(seed, config, shape):
    x = Random(seed, "adapt", "Normalization", str(config), str(shape)).normal(*shape, scale=3.0) + np.float32(5.0)
    whole, parts = keras.layers.Normalization(**config), keras.layers.Normalization(**config)
    whole.adapt(x)
    parts.adapt(batches(x))
    return {
        "name": "Normalization",
        "config": {**config, "axis": whole.get_config()["axis"]},
        "x": tensor(x),
        "mean": tensor(whole.get_weights()[0]),
        "variance": tensor(whole.get_weights()[1]),
        "mean_of_batches": tensor(parts.get_weights()[0]),
        "variance_of_batches": tensor(parts.get_weights()[1]),
    }


def discretization(seed, config, shape):
    x = Random(seed, "adapt", "Discretization", str(config), str(shape)).normal(*shape, scale=2.0)
    whole, parts = keras.layers.Discretization(**config), keras.layers.Discretization(**config)
    whole.adapt(x)
    parts.adapt(batches(x))
    return {
        "name": "Discretization",
        "config": config,
        "x": tensor(x),
        "boundaries": [float(b) for b in whole.bin_boundaries],
        "boundaries_of_batches": [float(b) for b in parts.bin_boundaries],
    }


def generate(seed, out):
    cases = [normalization(seed, *case) for case in NORMALIZATION]
    cases += [discretization(seed, *case) for case in DISCRETIZATION]
    write_json(out / "adapt.json", {**header(seed), "cases": cases})
