"""Optimizers: weights after some of twenty steps on given gradients, and all optimizer variables at the end."""

import keras
import numpy as np

from .common import Random, header, named, tensor, tensors, write_json

STEPS = 20
RECORDED = [0, 9, 19]  # steps after which the weights are written
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
# Each with all of COMMON.
MORE_BASES = [
    ("AdamW", {"learning_rate": 0.02}),
    ("Adagrad", {"learning_rate": 0.1, "initial_accumulator_value": 0.2, "epsilon": 1e-3}),
    ("Adadelta", {"learning_rate": 0.5, "rho": 0.9, "epsilon": 1e-4}),
    ("Adamax", {"learning_rate": 0.02, "beta_1": 0.8}),
    ("Nadam", {"learning_rate": 0.02}),
    (
        "Ftrl",
        {
            "learning_rate": 0.1,
            "l1_regularization_strength": 0.01,
            "l2_regularization_strength": 0.02,
            "l2_shrinkage_regularization_strength": 0.03,
            "beta": 0.1,
        },
    ),
    ("Lion", {"learning_rate": 0.01}),
    ("Lamb", {"learning_rate": 0.02}),
    ("Adafactor", {"learning_rate": 0.05}),
    ("Muon", {"learning_rate": 0.02, "adam_weight_decay": 0.1}),
    ("ScheduleFreeAdamW", {"learning_rate": 0.02, "warmup_steps": 4}),
]
# Once, with what is not in COMMON.
DEFAULTS = [(name, {}) for name, _ in MORE_BASES] + [
    ("Ftrl", {"learning_rate": 0.1, "learning_rate_power": -0.7}),
    ("AdamW", {"learning_rate": 0.02, "amsgrad": True}),
    ("Adafactor", {"learning_rate": 0.5, "clip_threshold": 0.5, "beta_2_decay": -0.6}),
    ("Adafactor", {"relative_step": False}),
    ("Muon", {"learning_rate": 0.02, "nesterov": False, "ns_steps": 3, "adam_lr_ratio": 0.5}),
    ("Muon", {"learning_rate": 0.02, "exclude_layers": ["k.*l"]}),
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
    if name == "ScheduleFreeAdamW":
        return published_schedule_free(config)
    arguments = dict(config)
    if isinstance(arguments.get("learning_rate"), dict):
        spec = arguments["learning_rate"]
        arguments["learning_rate"] = getattr(keras.optimizers.schedules, spec["class"])(**spec["config"])
    return getattr(keras.optimizers, name)(**arguments)


def published_schedule_free(config):
    """Keras' own step, but the old average is a copy, as on JAX: on TensorFlow and torch it is the variable."""

    class ScheduleFreeAdamW(keras.optimizers.ScheduleFreeAdamW):
        def update_step(self, gradient, variable, learning_rate):
            index = self._get_variable_index(variable)
            momentum, velocity = self._momentums[index], self._velocities[index]
            t = keras.ops.cast(self.iterations + 1, "float32")
            rate = learning_rate
            if self.warmup_steps > 0:
                rate = rate * keras.ops.minimum(t / self.warmup_steps, 1.0)
            old = keras.ops.copy(momentum.value)
            velocity.assign_add((keras.ops.square(gradient) - velocity) * (1 - self.beta_2))
            correction = 1 - keras.ops.power(keras.ops.cast(self.beta_2, "float32"), t)
            momentum.assign_sub(rate * gradient / (keras.ops.sqrt(velocity / correction) + self.epsilon))
            x = (variable - (1 - self.beta_1) * old) / self.beta_1
            x = (1 - 1.0 / t) * x + momentum / t
            variable.assign((1 - self.beta_1) * momentum + self.beta_1 * x)

    arguments = dict(config)
    if isinstance(arguments.get("learning_rate"), dict):
        spec = arguments["learning_rate"]
        arguments["learning_rate"] = getattr(keras.optimizers.schedules, spec["class"])(**spec["config"])
    return ScheduleFreeAdamW(**arguments)


def run(name, config, initial, gradients, exclude=None, constraints=None):
    keras.backend.clear_session()
    variables = [keras.Variable(v, name=n) for v, (n, _) in zip(initial, VARIABLES)]
    for index, constraint in (constraints or {}).items():
        variables[index].constraint = getattr(keras.constraints, constraint)()
    optimizer = build(name, config)
    if exclude:
        optimizer.exclude_from_weight_decay(var_names=exclude)
    optimizer.build(variables)
    weights, rates, halfway = [], [], None
    for index, step in enumerate(gradients):
        optimizer.apply([keras.ops.convert_to_tensor(g) for g in step], variables)
        if index in RECORDED:
            weights.append(tensors(v.numpy() for v in variables))
        if index == 9 and config.keys() & {"weight_decay", "gradient_accumulation_steps"}:
            halfway = named(optimizer.variables)
        rates.append(float(f"{float(optimizer.learning_rate):.9g}"))
    result = {
        "name": name,
        "config": config,
        "weights": weights,
        "learning_rate_after": rates,
        "iterations": int(optimizer.iterations),
        "variables": named(optimizer.variables),
    }
    if halfway:
        result["variables_after_10"] = halfway
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
    scales = ([0.1, 1.0, 0.3, 3.0, 0.01, 0.5] * STEPS)[:STEPS]
    gradients = [[rng.normal(*shape, scale=s) for _, shape in VARIABLES] for s in scales]
    gradients[2][1] = np.zeros_like(gradients[2][1])  # a zero gradient: its norm divides nothing
    cases = [run(name, {**base, **common}, initial, gradients) for name, base in BASES for common in COMMON]
    cases += [run(name, {**base, **common}, initial, gradients) for name, base in MORE_BASES for common in COMMON]
    cases += [run(name, config, initial, gradients) for name, config in DEFAULTS]
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
            "recorded": RECORDED,
            "gradients": [tensors(g) for g in gradients],
            "cases": cases,
        },
    )
