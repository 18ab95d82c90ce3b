"""Order of model.layers for random graphs with several inputs and outputs, shared layers and nested models."""

import keras
import numpy as np

from . import models
from .common import header, write_json
from .models import dense, layer, sequential

GRAPHS = 40


def random_layer(rng, index, tensors, made):
    """One more layer of a graph whose tensors all have four columns; sometimes one that was used before."""
    pick = rng.random()
    name = f"layer_{rng.integers(1000):03d}_{index}"
    if pick < 0.15 and made:
        shared = made[rng.integers(len(made))]
        again = {k: v for k, v in shared.items() if k not in ("inbound", "output")}
        return {
            **again,
            "inbound": [tensors[rng.integers(len(tensors))]],
            "output": f"{name}_again",
            "shared": True,
        }
    if pick < 0.45 and len(tensors) > 1:
        count = min(len(tensors), int(rng.integers(2, 4)))
        chosen = [str(t) for t in rng.choice(tensors, count, replace=False)]
        return {**layer("Add", name), "inbound": chosen}
    source = [tensors[rng.integers(len(tensors))]]
    if pick < 0.55:
        inner = sequential((4,), dense(f"{name}_a", 3), dense(f"{name}_b", 4))
        return {"class": "Model", "name": name, "config": {}, "model": inner, "inbound": source}
    return {**dense(name, 4), "inbound": source}


def random_graph(rng):
    inputs = [f"in_{i}" for i in range(int(rng.integers(1, 4)))]
    tensors, layers, made, used = list(inputs), [], [], set()
    for index in range(int(rng.integers(4, 13))):
        entry = random_layer(rng, index, tensors, made)
        layers.append(entry)
        used.update(entry["inbound"])
        tensors.append(entry.get("output", entry["name"]))
        if entry["class"] == "Dense" and not entry.get("shared"):
            made.append(entry)
    outputs = [t for t in tensors if t not in used and t not in inputs]
    interior = [t for t in tensors if t in used and t not in inputs]
    if interior and rng.random() < 0.4:
        outputs.append(interior[rng.integers(len(interior))])
    declared = [[n, [4]] for n in rng.permutation(inputs).tolist()]
    return {
        "kind": "functional",
        "inputs": declared,
        "outputs": rng.permutation(outputs).tolist(),
        "layers": layers,
    }


def case(seed, index):
    keras.backend.clear_session()
    spec = random_graph(np.random.default_rng([seed, index]))
    model = models.build(spec)
    weights = [w.path for w in model.weights]
    return {"model": spec, "layers": [entry.name for entry in model.layers], "weights": weights}


def generate(seed, out):
    write_json(out / "graphs.json", {**header(seed), "cases": [case(seed, i) for i in range(GRAPHS)]})
