"""Operations between layers as Keras writes them: the classes that there are, and one node of each kind."""

import inspect

import keras
from keras import ops
from keras.src.ops import core, math, nn, numpy
from keras.src.ops.operation import Operation

from .common import header, write_json

CASES = {  # of x: float (batch, 4, 6); the last node counts
    "x + 2": lambda x: x + 2,
    "x - 2": lambda x: x - 2,
    "2 - x": lambda x: 2 - x,
    "x * 2": lambda x: x * 2,
    "-x": lambda x: -x,
    "x / x": lambda x: x / x,
    "x ** 2": lambda x: x**2,
    "x != 2": lambda x: x != 2,
    "isclose": lambda x: ops.isclose(x, x, 1e-3, 1e-2, equal_nan=True),
    "where": lambda x: ops.where(x > 0, x, 0.5),
    "exp": lambda x: ops.exp(x),
    "round": lambda x: ops.round(x),
    "clip": lambda x: ops.clip(x, -0.5, 1.5),
    "rsqrt": lambda x: ops.rsqrt(x),
    "relu": lambda x: ops.relu(x),
    "relu6": lambda x: ops.relu6(x),
    "leaky_relu": lambda x: ops.leaky_relu(x, 0.3),
    "elu": lambda x: ops.elu(x, 0.5),
    "selu": lambda x: ops.selu(x),
    "celu": lambda x: ops.celu(x, 0.7),
    "gelu": lambda x: ops.gelu(x),
    "exact gelu": lambda x: ops.gelu(x, approximate=False),
    "silu": lambda x: ops.silu(x),
    "log_sigmoid": lambda x: ops.log_sigmoid(x),
    "hard_silu": lambda x: ops.hard_silu(x),
    "hard_tanh": lambda x: ops.hard_tanh(x),
    "tanh_shrink": lambda x: ops.tanh_shrink(x),
    "soft_shrink": lambda x: ops.soft_shrink(x, 0.3),
    "hard_shrink": lambda x: ops.hard_shrink(x, 0.3),
    "threshold": lambda x: ops.threshold(x, 0.1, -2.0),
    "squareplus": lambda x: ops.squareplus(x, 2.0),
    "sparse_plus": lambda x: ops.sparse_plus(x),
    "sparse_sigmoid": lambda x: ops.sparse_sigmoid(x),
    "sparsemax": lambda x: ops.sparsemax(x),
    "softmax": lambda x: ops.softmax(x),
    "log_softmax": lambda x: ops.log_softmax(x),
    "one_hot": lambda x: ops.one_hot(ops.argmax(x, 2), 6),
    "top_k": lambda x: ops.top_k(x, 2)[0],
    "in_top_k": lambda x: ops.in_top_k(ops.argmax(x[:, 0], 1), x[:, 1], 2),
    "mean": lambda x: ops.mean(x, axis=[1], keepdims=True),
    "max": lambda x: ops.max(x, axis=[1]),
    "prod": lambda x: ops.prod(x, axis=[1]),
    "any": lambda x: ops.any(x > 1, axis=[1]),
    "logsumexp": lambda x: ops.logsumexp(x, axis=[1]),
    "argmin": lambda x: ops.argmin(x, axis=1),
    "matmul": lambda x: ops.matmul(x, ops.transpose(x, (0, 2, 1))),
    "einsum": lambda x: ops.einsum("bij,bkj->bik", x, x),
    "full_like": lambda x: ops.full_like(x, 3, dtype="float32"),
    "reshape": lambda x: ops.reshape(x, (-1, 24)),
    "transpose": lambda x: ops.transpose(x, (0, 2, 1)),
    "expand_dims": lambda x: ops.expand_dims(x, 1),
    "squeeze": lambda x: ops.squeeze(x[:, :1], 1),
    "concatenate": lambda x: ops.concatenate([x, x], 1),
    "repeat": lambda x: ops.repeat(x, 2, 1),
    "tile": lambda x: ops.tile(x, [1, 2, 1]),
    "pad": lambda x: ops.pad(x, [[0, 0], [1, 2], [0, 1]], mode="reflect"),
    "take": lambda x: ops.take(x, [0, 2], 1),
    "take_along_axis": lambda x: ops.take_along_axis(x, ops.cast(x > 0, "int32"), 1),
    "x[:, 1:3]": lambda x: x[:, 1:3],
    "cast": lambda x: ops.cast(x, "int32"),
}


def classes(module):
    return sorted(
        name
        for name, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Operation) and value.__module__ == module.__name__
    )


def entry(name, function):
    keras.utils.clear_session()
    inputs = keras.Input((4, 6))
    node = keras.Model(inputs, function(inputs)).get_config()["layers"][-1]
    config = {key: value for key, value in node["config"].items() if key != "name"}
    return {"case": name, "class": node["class_name"], "module": node["module"], "name": node["name"], "config": config}


def generate(seed, out):
    write_json(
        out / "ops.json",
        {
            **header(seed),
            "classes": {module.__name__: classes(module) for module in (numpy, nn, math, core)},
            "cases": [entry(name, function) for name, function in CASES.items()],
        },
    )
