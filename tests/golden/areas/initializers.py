"""What an initializer must draw from: the distribution with its limits, checked here against Keras' own draws."""

import keras
import numpy as np
from keras.src.initializers.random_initializers import compute_fans

from .common import header, number, tensor, write_json

SHAPES = [(64, 48), (5, 5, 8, 24), (3, 3, 16, 4), (512,)]
CUT = 0.87962566103423978  # standard deviation of a unit normal cut at two standard deviations

VARIANCE = {  # class: (scale, mode, distribution)
    "GlorotUniform": (1.0, "fan_avg", "uniform"),
    "GlorotNormal": (1.0, "fan_avg", "truncated_normal"),
    "HeUniform": (2.0, "fan_in", "uniform"),
    "HeNormal": (2.0, "fan_in", "truncated_normal"),
    "LecunUniform": (1.0, "fan_in", "uniform"),
    "LecunNormal": (1.0, "fan_in", "truncated_normal"),
}


def distribution(kind, scale, fan):
    """limit is the largest absolute value that can be drawn, stddev that of the drawn values."""
    if kind == "uniform":
        limit = np.sqrt(3.0 * scale / fan)
        return {"kind": kind, "mean": 0.0, "limit": limit, "stddev": limit / np.sqrt(3.0)}
    stddev = np.sqrt(scale / fan)
    return {"kind": kind, "mean": 0.0, "limit": 2.0 * stddev / CUT, "stddev": stddev}


def case(seed, name, config, shape, expected):
    values = np.asarray(getattr(keras.initializers, name)(**config, seed=seed)(shape))
    center = values - expected["mean"]
    tolerance = 5.0 / np.sqrt(values.size)
    assert abs(center.mean()) < tolerance * expected["stddev"], (name, shape)
    assert abs(center.std() / expected["stddev"] - 1) < tolerance, (name, shape)
    assert expected["limit"] is None or np.abs(center).max() <= expected["limit"] * 1.000001, (name, shape)
    written = {k: number(v) if isinstance(v, (float, np.floating)) else v for k, v in expected.items()}
    drawn = {
        "mean": number(values.mean()),
        "stddev": number(values.std()),
        "min": number(values.min()),
        "max": number(values.max()),
    }
    return {
        "name": name,
        "config": config,
        "shape": list(shape),
        "expected": written,
        "drawn_by_keras": drawn,
    }


def random_cases(seed):
    for shape in SHAPES:
        fan_in, fan_out = compute_fans(shape)
        for name, (scale, mode, kind) in VARIANCE.items():
            fan = fan_in if mode == "fan_in" else max(1.0, (fan_in + fan_out) / 2.0)
            yield case(seed, name, {}, shape, distribution(kind, scale, fan))
        for mode, fan in (("fan_in", fan_in), ("fan_out", fan_out), ("fan_avg", (fan_in + fan_out) / 2.0)):
            for kind in ("uniform", "truncated_normal", "untruncated_normal"):
                config = {"scale": 1.5, "mode": mode, "distribution": kind}
                expected = distribution(kind, 1.5, fan)
                if kind == "untruncated_normal":
                    expected["limit"] = None
                yield case(seed, "VarianceScaling", config, shape, expected)
    shape = (64, 48)
    for low, high in ((-0.05, 0.05), (-0.25, 1.25)):
        half = (high - low) / 2
        yield case(
            seed,
            "RandomUniform",
            {"minval": low, "maxval": high},
            shape,
            {"kind": "uniform", "mean": (low + high) / 2, "limit": half, "stddev": half / np.sqrt(3.0)},
        )
    for mean, stddev in ((0.0, 0.05), (1.0, 0.5)):
        config = {"mean": mean, "stddev": stddev}
        yield case(
            seed,
            "RandomNormal",
            config,
            shape,
            {"kind": "untruncated_normal", "mean": mean, "limit": None, "stddev": stddev},
        )
        yield case(
            seed,
            "TruncatedNormal",
            config,
            shape,
            {"kind": "truncated_normal", "mean": mean, "limit": 2 * stddev, "stddev": stddev * CUT},
        )


def exact_cases():
    for name, config in (("Zeros", {}), ("Ones", {}), ("Constant", {}), ("Constant", {"value": -2.5})):
        yield {
            "name": name,
            "config": config,
            "value": tensor(np.asarray(getattr(keras.initializers, name)(**config)((2, 3)))),
        }


def generate(seed, out):
    fans = [
        {"shape": list(s), "fan_in": int(compute_fans(s)[0]), "fan_out": int(compute_fans(s)[1])}
        for s in [(), (7,), (3, 4), (3, 5, 6), (3, 3, 8, 16), (5, 5, 8, 1), (2, 3, 4, 5, 6)]
    ]
    names = [
        "glorot_uniform",
        "glorot_normal",
        "he_uniform",
        "he_normal",
        "lecun_uniform",
        "lecun_normal",
        "zeros",
        "ones",
        "random_normal",
        "random_uniform",
        "truncated_normal",
        "uniform",
        "normal",
    ]
    aliases = [{"name": n, "class": type(keras.initializers.get(n)).__name__} for n in names]
    write_json(
        out / "initializers.json",
        {
            **header(seed),
            "fans": fans,
            "random": list(random_cases(seed)),
            "exact": list(exact_cases()),
            "names": aliases,
        },
    )
