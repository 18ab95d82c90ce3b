"""Optimizers: weights after each of six steps on given gradients, and all optimizer variables at the end."""

import keras
import numpy as np

from .common import Random, header, named, tensor, tensors, write_json

STEPS = 6
VARIABLES = [("kernel", (3, 4)), ("bias", (4,)), ("filter", (2, 1, 3))]

BASES = [
    ("SGD", {}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True}),
    ("Adam", {}),
    ("Adam", {"learning_rate": 0.05, "beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-4}),
    ("Adam", {"learning_rate": 0.05, "amsgrad": True}),
    ("RMSprop", {}),
    ("RMSprop", {"learning_rate": 0.02, "rho": 0.8, "centered": True}),
    ("RMSprop", {"learning_rate": 0.02, "momentum": 0.7}),
    ("RMSprop", {"learning_rate": 0.02, "momentum": 0.7, "centered": True, "epsilon": 1e-3}),
]
EXPONENTIAL = {
    "class": "ExponentialDecay",
    "config": {"initial_learning_rate": 0.1, "decay_steps": 2, "decay_rate": 0.7},
}
PIECEWISE = {"class": "PiecewiseConstantDecay", "config": {"boundaries": [1, 3], "values": [0.1, 0.03, 0.01]}}
COMMON = [
    {},
    {"weight_decay": 0.1},
    {"clipnorm": 0.5},
    {"clipvalue": 0.3},
    {"global_clipnorm": 0.8},
    {"use_ema": True, "ema_momentum": 0.9},
    {"use_ema": True, "ema_momentum": 0.8, "ema_overwrite_frequency": 2},
    {"gradient_accumulation_steps": 2},
    {"gradient_accumulation_steps": 4, "clipnorm": 0.4, "weight_decay": 0.05},
    {"learning_rate": EXPONENTIAL},
    {"learning_rate": PIECEWISE, "gradient_accumulation_steps": 2},
]
ONLY_ADAM = [  # the combinations, once
    {"weight_decay": 0.1, "global_clipnorm": 0.8, "use_ema": True, "ema_momentum": 0.5},
    {"use_ema": True, "ema_momentum": 0.8, "ema_overwrite_frequency": 2, "gradient_accumulation_steps": 2},
    {"loss_scale_factor": 8.0, "clipvalue": 0.05},
]


def build(name, config):
    arguments = dict(config)
    if isinstance(arguments.get("learning_rate"), dict):
        spec = arguments["learning_rate"]
        arguments["learning_rate"] = getattr(keras.optimizers.schedules, spec["class"])(**spec["config"])
    return getattr(keras.optimizers, name)(**arguments)


def run(name, config, initial, gradients, exclude=None, constraints=None):
    keras.backend.clear_session()
    variables = [keras.Variable(v, name=n) for v, (n, _) in zip(initial, VARIABLES)]
    for index, constraint in (constraints or {}).items():
        variables[index].constraint = getattr(keras.constraints, constraint)()
    optimizer = build(name, config)
    if exclude:
        optimizer.exclude_from_weight_decay(var_names=exclude)
    optimizer.build(variables)
    weights, rates = [], []
    for step in gradients:
        optimizer.apply([keras.ops.convert_to_tensor(g) for g in step], variables)
        weights.append(tensors(v.numpy() for v in variables))
        rates.append(float(f"{float(optimizer.learning_rate):.9g}"))
    result = {
        "name": name,
        "config": config,
        "weights": weights,
        "learning_rate_after": rates,
        "iterations": int(optimizer.iterations),
        "variables": named(optimizer.variables),
    }
    if exclude:
        result["exclude_from_weight_decay"] = exclude
    if constraints:
        result["constraints"] = {VARIABLES[i][0]: c for i, c in constraints.items()}
    if config.get("use_ema"):
        optimizer.finalize_variable_values(variables)
        result["finalized"] = tensors(v.numpy() for v in variables)
    return result


def generate(seed, out):
    rng = Random(seed, "optimizers")
    initial = [rng.normal(*shape, scale=0.5) for _, shape in VARIABLES]
    scales = [0.1, 1.0, 0.3, 3.0, 0.01, 0.5]
    gradients = [[rng.normal(*shape, scale=s) for _, shape in VARIABLES] for s in scales]
    gradients[2][1] = np.zeros_like(gradients[2][1])  # a zero gradient: its norm divides nothing
    cases = [run(name, {**base, **common}, initial, gradients) for name, base in BASES for common in COMMON]
    cases += [run("Adam", {"learning_rate": 0.05, **extra}, initial, gradients) for extra in ONLY_ADAM]
    cases.append(
        run("SGD", {"learning_rate": 0.1, "weight_decay": 0.2}, initial, gradients, exclude=["bias"])
    )
    cases.append(
        run(
            "SGD",
            {"learning_rate": 0.5, "use_ema": True, "ema_momentum": 0.9},
            initial,
            gradients,
            constraints={0: "NonNeg", 1: "UnitNorm"},
        )
    )
    write_json(
        out / "optimizers.json",
        {
            **header(seed),
            "variables": [{"name": n, **tensor(v)} for (n, _), v in zip(VARIABLES, initial)],
            "gradients": [tensors(g) for g in gradients],
            "cases": cases,
        },
    )
