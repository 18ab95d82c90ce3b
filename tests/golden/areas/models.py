"""Models from plain descriptions. The C++ tests read the same descriptions, so both sides build the same model.

{"kind": "sequential", "inputs": [[name, shape]], "layers": [{"class", "name", "config"[, "trainable"]}]}
{"kind": "functional", "inputs": [[name, shape], ...], "outputs": [name, ...],
 "layers": [{"class", "name", "config", "inbound": [name, ...]}, ...]}
A layer named twice in a functional model is shared: the second entry has "shared": true and its own "output" name.
A nested model is a layer of class "Model" with its description under "model".
Regularizers, constraints, initializers, optimizers, schedules and losses are {"class", "config"} or Keras' names.
"""

import keras

MODULES = {
    "kernel_regularizer": keras.regularizers,
    "bias_regularizer": keras.regularizers,
    "kernel_constraint": keras.constraints,
    "bias_constraint": keras.constraints,
    "gamma_regularizer": keras.regularizers,
}


def dense(name, units, activation=None, **config):
    if activation:
        config["activation"] = activation
    return {"class": "Dense", "name": name, "config": {"units": units, **config}}


def layer(cls, name, **config):
    return {"class": cls, "name": name, "config": config}


def sequential(shape, *layers):
    return {"kind": "sequential", "inputs": [["input", list(shape)]], "layers": list(layers)}


def make(module, spec):
    """An object from {"class", "config"}; a name stays a name."""
    return (
        getattr(module, spec["class"])(**spec["config"])
        if isinstance(spec, dict) and "class" in spec
        else spec
    )


def make_layer(spec):
    if spec["class"] == "Model":
        return build(spec["model"], spec["name"])
    config = {k: make(MODULES[k], v) if k in MODULES else v for k, v in spec["config"].items()}
    result = getattr(keras.layers, spec["class"])(name=spec["name"], **config)
    result.trainable = spec.get("trainable", True)
    return result


def build(spec, name="model"):
    if spec["kind"] == "sequential":
        return keras.Sequential(
            [keras.Input(spec["inputs"][0][1])] + [make_layer(s) for s in spec["layers"]], name=name
        )
    values = {n: keras.Input(shape, name=n) for n, shape in spec["inputs"]}
    inputs = list(values.values())
    made = {}
    for entry in spec["layers"]:
        if entry["name"] not in made:
            made[entry["name"]] = make_layer(entry)
        arguments = [values[n] for n in entry["inbound"]]
        values[entry.get("output", entry["name"])] = made[entry["name"]](
            arguments if len(arguments) > 1 else arguments[0]
        )
    outputs = [values[n] for n in spec["outputs"]]
    return keras.Model(
        inputs if len(inputs) > 1 else inputs[0], outputs if len(outputs) > 1 else outputs[0], name=name
    )


def make_optimizer(spec):
    if isinstance(spec, str):
        return spec
    config = dict(spec["config"])
    if isinstance(config.get("learning_rate"), dict):
        config["learning_rate"] = make(keras.optimizers.schedules, config["learning_rate"])
    return getattr(keras.optimizers, spec["class"])(**config)


def make_nested(module, spec):
    """Losses and metrics: one, a list or a map of them."""
    if isinstance(spec, list):
        return [make_nested(module, s) for s in spec]
    if isinstance(spec, dict) and "class" not in spec:
        return {k: make_nested(module, s) for k, s in spec.items()}
    return make(module, spec)


def compile_model(model, spec):
    arguments = dict(spec)
    arguments["optimizer"] = make_optimizer(spec.get("optimizer", "rmsprop"))
    if "loss" in spec:
        arguments["loss"] = make_nested(keras.losses, spec["loss"])
    for key in ("metrics", "weighted_metrics"):
        if key in spec:
            arguments[key] = make_nested(keras.metrics, spec[key])
    model.compile(**arguments)


def fill(model, rng):
    """Seeded weights, in model.weights order, small enough that no activation saturates."""
    values = []
    for weight in model.weights:
        shape = tuple(weight.shape)
        if weight.name in ("gamma", "moving_variance"):
            values.append(rng.uniform(*shape, low=0.7, high=1.3))
        else:
            fan = max(1, int(weight.shape.num_elements() / shape[-1]) if len(shape) > 1 else 1)
            values.append(rng.normal(*shape, scale=0.8 / fan**0.5 if len(shape) > 1 else 0.1))
    model.set_weights(values)
