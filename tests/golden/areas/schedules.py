"""Learning rate schedules at many steps."""

import keras

from .common import header, number, write_json

STEPS = [
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    9,
    10,
    11,
    19,
    20,
    21,
    49,
    50,
    51,
    99,
    100,
    101,
    149,
    150,
    151,
    999,
    1000,
    1001,
    123456,
]

CASES = [
    ("ExponentialDecay", {"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.96}),
    (
        "ExponentialDecay",
        {"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5, "staircase": True},
    ),
    (
        "ExponentialDecay",
        {"initial_learning_rate": 1e-3, "decay_steps": 100, "decay_rate": 0.9, "staircase": True},
    ),
    ("CosineDecay", {"initial_learning_rate": 0.1, "decay_steps": 100}),
    ("CosineDecay", {"initial_learning_rate": 0.1, "decay_steps": 100, "alpha": 0.1}),
    (
        "CosineDecay",
        {"initial_learning_rate": 0.0, "decay_steps": 100, "warmup_target": 0.05, "warmup_steps": 10},
    ),
    (
        "CosineDecay",
        {
            "initial_learning_rate": 0.01,
            "decay_steps": 100,
            "alpha": 0.2,
            "warmup_target": 0.2,
            "warmup_steps": 50,
        },
    ),
    (
        "CosineDecay",
        {"initial_learning_rate": 0.3, "decay_steps": 150, "warmup_target": 0.1, "warmup_steps": 5},
    ),
    (
        "CosineDecay",
        {"initial_learning_rate": 0.3, "decay_steps": 100, "warmup_target": None, "warmup_steps": 10},
    ),
    ("CosineDecayRestarts", {"initial_learning_rate": 0.1, "first_decay_steps": 10}),
    (
        "CosineDecayRestarts",
        {
            "initial_learning_rate": 0.2,
            "first_decay_steps": 10.5,
            "t_mul": 1.5,
            "m_mul": 0.8,
            "alpha": 0.05,
        },
    ),
    ("CosineDecayRestarts", {"initial_learning_rate": 0.2, "first_decay_steps": 7, "t_mul": 1.0, "m_mul": 0.9}),
    ("InverseTimeDecay", {"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5}),
    (
        "InverseTimeDecay",
        {"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5, "staircase": True},
    ),
    ("PolynomialDecay", {"initial_learning_rate": 0.1, "decay_steps": 100}),
    (
        "PolynomialDecay",
        {"initial_learning_rate": 0.1, "decay_steps": 50, "end_learning_rate": 0.01, "power": 2.0},
    ),
    ("PolynomialDecay", {"initial_learning_rate": 0.1, "decay_steps": 10, "power": 0.5, "cycle": True}),
    ("PiecewiseConstantDecay", {"boundaries": [5, 10], "values": [1.0, 0.5, 0.1]}),
    ("PiecewiseConstantDecay", {"boundaries": [100], "values": [0.01, 0.001]}),
    ("PiecewiseConstantDecay", {"boundaries": [1, 2, 3, 1000], "values": [0.1, 0.2, 0.3, 0.4, 0.5]}),
]


def generate(seed, out):
    cases = []
    for name, config in CASES:
        schedule = getattr(keras.optimizers.schedules, name)(**config)
        cases.append(
            {"name": name, "config": config, "steps": STEPS, "values": [number(schedule(s)) for s in STEPS]}
        )
    write_json(out / "schedules.json", {**header(seed), "cases": cases})
