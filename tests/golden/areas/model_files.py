"""Whole models written by Keras, what they predict, and what two more steps of training make of them.

The archives hold the time of writing: their bytes differ from run to run.
"""

import keras
import numpy as np
from keras import layers as L

from .common import Random, header, tensors, write_json


def plain():
    return keras.Sequential(
        [
            L.Input((8,)),
            L.Dense(5, activation="relu", kernel_regularizer="l2"),
            L.BatchNormalization(),
            L.Dropout(0.0),
            L.Dense(3, activation="softmax"),
        ]
    )


def graph():
    image, vector = L.Input((8, 8, 3), name="img"), L.Input((4,), name="vec")
    shared = L.Dense(4, name="shared")
    x = L.Conv2D(4, 3, padding="same", activation="relu", kernel_regularizer="l2")(image)
    x = L.ZeroPadding2D(((1, 2), (0, 1)))(L.MaxPooling2D()(x))
    x = shared(L.GlobalAveragePooling2D()(x))
    y = shared(vector)
    z = L.Add()([x, y])
    w = z * 2.0 + x - y
    first = L.Dense(2, name="o1")(L.Concatenate()([w, z]))
    second = L.Dense(1, activation="sigmoid", name="o2")(z / 3.0)
    return keras.Model([image, vector], [first, second])


def nested():
    inner = keras.Sequential(
        [L.Input((8,)), L.Dense(6, activation="tanh"), L.BatchNormalization()], name="inner"
    )
    x = L.Input((8,))
    middle = keras.Model(x, L.Dense(3)(inner(x)), name="middle")
    inner.layers[0].trainable = False
    x = L.Input((8,))
    return keras.Model(x, L.Dense(3)(middle(x)) + middle(x * 2.0))


def text():
    x = L.Input((7,), dtype="int32")
    h = L.LSTM(4, return_sequences=True)(L.Embedding(20, 5, mask_zero=True)(x))
    return keras.Model(x, L.Dense(1)(L.GRU(3)(h)))


def both_ways():
    return keras.Sequential(
        [L.Input((7, 3)), L.Bidirectional(L.LSTM(4, return_sequences=True)), L.SimpleRNN(3), L.Dense(2)]
    )


def states():
    x = L.Input((6, 3))
    y, h, c = L.LSTM(4, return_state=True, return_sequences=True)(x)
    return keras.Model(x, L.LSTM(4)(y, initial_state=[h, c]))


def siamese():
    x = L.Input((4,))
    core = keras.Model(x, L.Dense(3, activation="tanh")(x), name="core")
    head = keras.Sequential([L.Input((3,)), L.Dense(2)], name="head")
    a, b = L.Input((4,), name="a"), L.Input((4,), name="b")
    second = core(a * 2.0)
    return keras.Model([a, b], [core(b), head(core(a)), second, head(second + core(L.Dense(4)(second)))])


def rate():
    return keras.optimizers.schedules.ExponentialDecay(0.05, 3, 0.5)


CASES = [  # name, model, compile arguments, shapes of inputs (an integer: so many words), shapes of targets
    ("plain", plain, {"optimizer": keras.optimizers.Adam, "loss": "mse", "metrics": ["mae"]}, [(8,)], [(3,)]),
    (
        "graph",
        graph,
        {
            "optimizer": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
            "loss": {"o1": "mse", "o2": "binary_crossentropy"},
            "metrics": {"o2": ["accuracy"]},
        },
        [(8, 8, 3), (4,)],
        [(2,), (1,)],
    ),
    (
        "nested",
        nested,
        {"optimizer": lambda: keras.optimizers.RMSprop(0.01), "loss": keras.losses.MeanAbsoluteError()},
        [(8,)],
        [(3,)],
    ),
    # Words come twice: Keras' adaptive optimizers then sum squares of parts, where the dense gradient defines the numbers.
    ("text", text, {"optimizer": lambda: keras.optimizers.SGD(rate(), momentum=0.9), "loss": "mse"}, [20], [(1,)]),
    ("both_ways", both_ways, {"optimizer": lambda: keras.optimizers.Adam(0.01), "loss": "mse"}, [(7, 3)], [(2,)]),
    ("states", states, {"optimizer": lambda: keras.optimizers.Nadam(0.01), "loss": "mse"}, [(6, 3)], [(4,)]),
    (
        "siamese",
        siamese,
        {"optimizer": lambda: keras.optimizers.SGD(0.1), "loss": ["mse", "mse", "mse", "mse"]},
        [(4,), (4,)],
        [(3,), (2,), (3,), (2,)],
    ),
]


def data(random, shape, rows=6):
    if isinstance(shape, int):
        words = random.integers(rows, 7, low=1, high=shape)
        words[::2, 5:] = 0
        return words
    return random.normal(rows, *shape)


def generate(seed, out):
    cases = []
    for index, (name, make, compile_arguments, inputs, targets) in enumerate(CASES):
        keras.utils.set_random_seed(seed + index)
        random = Random(seed, "model_files", name)
        model = make()
        arguments = dict(compile_arguments)
        arguments["optimizer"] = arguments["optimizer"]()
        model.compile(**arguments)
        x = [data(random, shape) for shape in inputs]
        y = [np.abs(np.tanh(data(random, shape))) for shape in targets]
        one = lambda values: values[0] if len(values) == 1 else values  # noqa: E731
        model.train_on_batch(one(x), one(y))
        model.save(out / f"{name}.keras")
        model.save(out / f"{name}.h5")
        before = model.predict(one(x), verbose=0)
        for _ in range(2):
            model.train_on_batch(one(x), one(y))
        after = model.predict(one(x), verbose=0)
        as_list = lambda values: values if isinstance(values, list) else [values]  # noqa: E731
        cases.append(
            {
                "file": name,
                "x": tensors(x),
                "y": tensors(y),
                "prediction": tensors(as_list(before)),
                "trained": tensors(as_list(after)),
            }
        )
    write_json(out / "model_files.json", {**header(seed), "cases": cases})
