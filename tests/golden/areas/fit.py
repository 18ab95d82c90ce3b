"""Small whole trainings: initial weights, data, compile and fit arguments; history, weights and state afterwards."""

import keras

from . import fit_cases, models
from .common import Random, header, named, number, tensor, tensors, write_json


def make_callback(spec):
    if spec.get("halves_each_epoch"):
        return keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5 if epoch else rate)
    return getattr(keras.callbacks, spec["class"])(**spec["config"])


def write_data(value):
    if isinstance(value, (list, tuple)):
        return [tensor(v) for v in value]
    return [tensor(value)]


def write_fit(arguments):
    written = dict(arguments)
    if "sample_weight" in written:
        written["sample_weight"] = write_data(written["sample_weight"])
    if "validation_data" in written:
        x, y = written["validation_data"]
        written["validation_data"] = {"x": write_data(x), "y": write_data(y)}
    return written


def logs(values):
    return {k: number(v) for k, v in values.items()}


def run(seed, name, spec, compile_spec, x, y, fit_spec):
    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)
    model = models.build(spec)
    models.fill(model, Random(seed, "fit", name, "weights"))
    initial = named(model.weights)
    models.compile_model(model, compile_spec)
    arguments = dict(fit_spec, shuffle=False, verbose=0)
    if "class_weight" in arguments:
        arguments["class_weight"] = {int(k): v for k, v in arguments["class_weight"].items()}
    arguments["callbacks"] = [make_callback(c) for c in arguments.get("callbacks", [])]
    history = model.fit(x, y, **arguments)
    predicted = model.predict(x, batch_size=8, verbose=0)
    evaluated = model.evaluate(x, y, batch_size=8, verbose=0, return_dict=True)
    return {
        "name": name,
        "model": spec,
        "compile": compile_spec,
        "x": write_data(x),
        "y": write_data(y),
        "fit": write_fit(fit_spec),
        "initial_weights": initial,
        "history": [[k, [number(v) for v in vs]] for k, vs in history.history.items()],
        "epochs": history.epoch,
        "weights": tensors(w.numpy() for w in model.weights),
        "optimizer_variables": named(model.optimizer.variables),
        "predict": write_data(predicted),
        "evaluate": logs(evaluated),
    }


def on_batch(seed):
    """train_on_batch, test_on_batch, predict_on_batch on a model that fit has not touched."""
    keras.backend.clear_session()
    rng = Random(seed, "fit", "on_batch")
    spec, compile_spec = fit_cases.mlp(), {
        "optimizer": fit_cases.optimizer("SGD", learning_rate=0.1),
        "loss": fit_cases.SPARSE_LOGITS,
        "metrics": ["accuracy"],
    }
    model = models.build(spec)
    models.fill(model, rng)
    initial = named(model.weights)
    models.compile_model(model, compile_spec)
    steps = []
    for rows in (8, 5):
        x, y, w = rng.normal(rows, 6), rng.integers(rows, high=3), rng.uniform(rows, low=0.1, high=2.0)
        steps.append(
            {
                "x": tensor(x),
                "y": tensor(y),
                "sample_weight": tensor(w),
                "train": logs(model.train_on_batch(x, y, sample_weight=w, return_dict=True)),
                "test": logs(model.test_on_batch(x, y, return_dict=True)),
                "predict": tensor(model.predict_on_batch(x)),
                "weights": tensors(v.numpy() for v in model.weights),
            }
        )
    model.reset_metrics()
    return {"model": spec, "compile": compile_spec, "initial_weights": initial, "steps": steps}


def generate(seed, out):
    def rng(name):
        return Random(seed, "fit", name)

    cases = [run(seed, *case) for group in fit_cases.GROUPS for case in group(rng)]
    write_json(out / "fit.json", {**header(seed), "cases": cases, "on_batch": on_batch(seed)})
