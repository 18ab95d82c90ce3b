"""A whole model as Keras 2 wrote it, whose hard_sigmoid is clip(0.2 x + 0.5, 0, 1) (today's is another function):
legacy_hard_sigmoid.h5, and what it predicts, computed by numpy in float64. No Keras of today writes or reads it so;
check_models_with_keras.py lets Keras open what Nyala converts it to."""

import json

import h5py
import numpy as np

from .common import Random, header, tensors, write_json


def hard_sigmoid(x):
    return np.clip(0.2 * x + 0.5, 0.0, 1.0)


def layer(class_name, name, **config):
    return {"class_name": class_name, "config": {"name": name, "trainable": True, "dtype": "float32", **config}}


def generate(seed, out):
    random = Random(seed, "legacy_hard_sigmoid")
    weights = {
        "gate": [("kernel", random.normal(3, 5, scale=2.0)), ("bias", random.normal(5))],
        "out": [("kernel", random.normal(5, 2)), ("bias", random.normal(2))],
    }
    layers = [
        layer("Dense", "gate", batch_input_shape=[None, 3], units=5, activation="hard_sigmoid", use_bias=True),
        layer("Activation", "again", activation="hard_sigmoid"),
        layer("Dense", "out", units=2, activation="linear", use_bias=True),
    ]
    with h5py.File(out / "legacy_hard_sigmoid.h5", "w") as file:
        file.attrs["keras_version"], file.attrs["backend"] = "2.3.1", "tensorflow"
        model = {"class_name": "Sequential", "config": {"name": "old", "layers": layers}}
        file.attrs["model_config"] = json.dumps(model)
        group = file.create_group("model_weights")
        group.attrs["keras_version"], group.attrs["backend"] = "2.3.1", "tensorflow"
        group.attrs["layer_names"] = np.array(["gate", "again", "out"], dtype="S")
        for name in ["gate", "again", "out"]:
            names = [f"{name}/{weight}:0" for weight, _ in weights.get(name, [])]
            group.create_group(name).attrs["weight_names"] = np.array(names, dtype="S")
            for (_, value), path in zip(weights.get(name, []), names):
                group[name].create_dataset(path, data=value, track_times=False)
    x = random.normal(6, 3)
    (gate, gate_bias), (last, last_bias) = [[value for _, value in weights[name]] for name in ("gate", "out")]
    hidden = hard_sigmoid(hard_sigmoid(x.astype("float64") @ gate + gate_bias))
    prediction = (hidden @ last + last_bias).astype("float32")
    write_json(
        out / "legacy_hard_sigmoid.json",
        {**header(seed), "x": tensors([x]), "prediction": tensors([prediction])},
    )
