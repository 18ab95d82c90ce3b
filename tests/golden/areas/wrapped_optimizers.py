"""Optimizers inside of others: files saved in the middle of a training, and how it goes on."""

import keras
import numpy as np
from keras import layers, optimizers

from .common import Random, header, named, tensor, tensors, write_json
from .layer_models import deflate

BATCHES, SAVED_AFTER, ROWS = 8, 4, 5
OVERFLOW = {"loss_scale": [2, 5], "loss_scale_at_once": [0, 1, 6]}


def scaled(inner, **config):
    return lambda: optimizers.LossScaleOptimizer(inner(), **config)


def by_path():
    return optimizers.MultiOptimizer(
        optimizers.OptimizerMap(
            optimizers.SGD(0.1, momentum=0.9),
            {".*/kernel": optimizers.Adam(0.05, clipnorm=0.2), "sequential/head/bias": optimizers.RMSprop(0.02)},
        ),
        loss_scale_factor=8.0,
    )


def small_clip():
    return optimizers.AdamW(0.05, global_clipnorm=0.1, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=2)


CASES = [
    ("loss_scale", scaled(lambda: optimizers.Adam(0.05), initial_scale=64.0, dynamic_growth_steps=2)),
    ("loss_scale_at_once", scaled(small_clip, dynamic_growth_steps=1)),
    ("loss_scale_schedule", scaled(lambda: optimizers.SGD(optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)))),
    ("multi_optimizer", by_path),
]


def case(seed, out, name, make):
    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)
    random = Random(seed, "wrapped_optimizers", name)
    model = keras.Sequential(
        [keras.Input((3,)), layers.Dense(4, activation="tanh", name="body"), layers.Dense(2, name="head")],
        name="sequential",
    )
    for weight in model.weights:
        weight.assign(random.uniform(*weight.shape, low=-0.7, high=0.7))
    model.compile(optimizer=make(), loss="mse")
    x = [random.normal(ROWS, 3) for _ in range(BATCHES)]
    y = [random.normal(ROWS, 2) for _ in range(BATCHES)]
    for batch in OVERFLOW.get(name, []):
        x[batch][1, 2] = np.inf
    steps = []
    for batch in range(BATCHES):
        if batch == SAVED_AFTER:
            model.save(out / f"{name}.keras")
            deflate(out / f"{name}.keras")
        model.train_on_batch(x[batch], y[batch])
        steps.append({"weights": tensors(w.numpy() for w in model.weights), "state": named(model.optimizer.variables)})
    return {"name": name, "x": [tensor(v) for v in x], "y": [tensor(v) for v in y], "saved_after": SAVED_AFTER,
            "steps": steps}


def generate(seed, out):
    write_json(out / "wrapped_optimizers.json",
               {**header(seed), "cases": [case(seed, out, *entry) for entry in CASES]})
