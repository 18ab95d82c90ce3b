"""Weights files written by Keras, and what a reader must find in them."""

import os

import h5py
import keras
import numpy as np

from . import models
from .common import Random, header, named, tensor, tensors, write_json
from .fit_cases import CONV_BN, SHARED, SPARSE_LOGITS, mlp, optimizer
from .models import dense, layer, sequential


class Subclassed(keras.Model):
    """conv and dense sort before `layers` and keep their own paths; output_dense and the list are reached through it."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.output_dense = keras.layers.Dense(3)
        self.conv = keras.layers.Conv2D(2, 3)
        self.pool = keras.layers.GlobalAveragePooling2D()
        self.dense = keras.layers.Dense(4, activation="relu")

    def call(self, x):
        return self.output_dense(self.dense(self.pool(self.conv(x))))


class WithList(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.blocks = [keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(4, activation="tanh")]
        self.head = keras.layers.Dense(2)

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


NESTED = {
    "kind": "functional",
    "inputs": [["x", [6, 6, 2]]],
    "outputs": ["out"],
    "layers": [
        {
            "class": "Model",
            "name": "base",
            "config": {},
            "inbound": ["x"],
            "model": sequential(
                (6, 6, 2),
                layer("Conv2D", "c1", filters=3, kernel_size=3),
                layer("BatchNormalization", "n1"),
                layer("Conv2D", "c2", filters=2, kernel_size=3),
            ),
        },
        {**layer("GlobalAveragePooling2D", "gap"), "inbound": ["base"]},
        {**layer("Dropout", "drop", rate=0.0), "inbound": ["gap"]},
        {**dense("out", 3), "inbound": ["drop"]},
    ],
}

DECAY = {
    "class": "ExponentialDecay",
    "config": {"initial_learning_rate": 0.05, "decay_steps": 3, "decay_rate": 0.5},
}

CASES = [  # (file, description of the model or its class, compile arguments, shapes of the inputs, classes or outputs)
    (
        "mlp_adam",
        mlp(),
        {"optimizer": optimizer("Adam", learning_rate=0.02), "loss": SPARSE_LOGITS},
        [(6,)],
        3,
    ),
    (
        "conv_bn_momentum",
        CONV_BN,
        {"optimizer": optimizer("SGD", learning_rate=0.05, momentum=0.9), "loss": SPARSE_LOGITS},
        [(8, 8, 3)],
        4,
    ),
    (
        "nested_schedule",
        NESTED,
        {"optimizer": optimizer("RMSprop", learning_rate=DECAY, centered=True), "loss": SPARSE_LOGITS},
        [(6, 6, 2)],
        3,
    ),
    (
        "shared_accumulation_ema",
        SHARED,
        {
            "optimizer": optimizer(
                "Adam", learning_rate=0.02, use_ema=True, gradient_accumulation_steps=2, amsgrad=True
            ),
            "loss": "mse",
        },
        [(4,), (4,)],
        2,
    ),
    ("not_compiled", mlp(), None, [(6,)], 3),
    ("subclassed", Subclassed, {"optimizer": "adam", "loss": SPARSE_LOGITS}, [(5, 5, 2)], 3),
    ("subclassed_list", WithList, None, [(4,)], 2),
]


def contents(path):
    """Every dataset and every `name` attribute, in the order in which HDF5 lists them."""
    datasets, groups = [], []

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            datasets.append({"path": "/" + name, **tensor(item[()])})
        else:
            groups.append({"path": "/" + name, "name": item.attrs.get("name")})

    with h5py.File(path, "r") as file:
        assert not file.attrs
        file.visititems(visit)
    return {"datasets": datasets, "groups": groups}


def case(seed, out, name, spec, compile_spec, shapes, classes):
    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)
    rng = Random(seed, "weights_files", name)
    x = [rng.normal(10, *s) for s in shapes]
    model = models.build(spec) if isinstance(spec, dict) else spec(name="model")
    model(x if len(x) > 1 else x[0])
    models.fill(model, rng)
    if compile_spec:
        models.compile_model(model, compile_spec)
        y = rng.normal(10, classes) if compile_spec["loss"] == "mse" else rng.integers(10, high=classes)
        model.fit(x if len(x) > 1 else x[0], y, batch_size=4, epochs=1, shuffle=False, verbose=0)
    path = out / f"{name}.weights.h5"
    temporary = out / f"part_{name}.weights.h5"
    model.save_weights(temporary)
    os.replace(temporary, path)
    result = {
        "file": path.name,
        "model": spec if isinstance(spec, dict) else spec.__name__,
        "compile": compile_spec,
        **contents(path),
        "weights": named(model.weights),
        "x": tensors(x),
        "predict": tensor(model.predict(x if len(x) > 1 else x[0], verbose=0)),
    }
    if compile_spec:
        result["optimizer_variables"] = named(model.optimizer.variables)
    return result


def generate(seed, out):
    cases = [case(seed, out, *c) for c in CASES]
    for written in cases:
        assert all(np.isfinite(v) for v in written["predict"]["data"])
    write_json(out / "weights_files.json", {**header(seed), "cases": cases})
