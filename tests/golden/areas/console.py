"""What Keras writes to a terminal: progress bar with a fake clock, summaries, messages of callbacks."""

import contextlib
import io
import os
import pathlib
import tempfile

import keras
import numpy as np
from keras.src.utils import io_utils, progbar

from .common import header, write_json

LOSS = [("loss", 0.5)]
MANY = [("a", 1e-3), ("b", 1.0001e-3), ("c", -5.0), ("d", 0.0), ("e", 12345.678), ("f", float("nan"))]

PROGRESS = [  # (target, updates, seconds before each, values, finalized at, verbose)
    (3, [1, 2, 3], 2.0, LOSS, None, 1),
    (3, [1, 2, 3], 0.1, MANY, None, 1),
    (10, [1, 5, 10], 0.035, LOSS, None, 1),
    (1000, [500, 1000], 0.001, LOSS, None, 1),
    (200, [1, 2, 200], 70.0, LOSS, None, 1),
    (4000, [1, 2], 3700.0, LOSS, 2, 1),
    (None, [1, 2, 3], 0.5, LOSS, 3, 1),
    (3, [1, 2, 3], 0.5, LOSS, None, 2),
    (3, [1, 2, 3], 0.5, MANY, None, 2),
    (1875, [1, 1875], 3.0, LOSS, None, 1),
    (2, [1, 2], 0.0, LOSS, None, 1),
    (4, [1, 2, 3, 4], 0.2, [], None, 1),
    (235, [1, 100, 235], 0.0333, [("accuracy", 0.91234), ("loss", 0.31)], None, 1),
    (1, [1], 0.02, LOSS, None, 1),
    (3, [1, 2, 3], 61.0, LOSS, None, 1),
]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def progress_case(target, updates, seconds, values, finalized_at, verbose):
    now = [1000.0]

    class Clock:
        @staticmethod
        def time():
            return now[0]

    original, progbar.time = progbar.time, Clock
    stream = io.StringIO()
    try:
        with contextlib.redirect_stdout(stream):
            bar = progbar.Progbar(target, verbose=verbose, stateful_metrics=[n for n, _ in values])
            for current in updates:
                now[0] += seconds
                bar.update(current, values, finalize=True if current == finalized_at else None)
    finally:
        progbar.time = original
    return {
        "target": target,
        "updates": updates,
        "seconds_each": seconds,
        "finalized_at": finalized_at,
        "verbose": verbose,
        "values": [[n, "nan" if v != v else v] for n, v in values],
        "bytes": stream.getvalue(),
    }


def simple():
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(32, 3),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(10),
        ],
        name="seq",
    )


def lenet():
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Rescaling(1 / 255.0),
            layers.Conv2D(20, 3, activation="relu"),
            layers.AveragePooling2D(2),
            layers.Conv2D(50, 5, activation="relu"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dense(10),
        ]
    )


def branchy():
    layers = keras.layers
    x = keras.Input((8,), name="inp")
    left = layers.Dense(4, name="a")(x)
    right = layers.Dense(4, name="a_very_long_layer_name_that_does_not_fit", trainable=False)(x)
    total = layers.Add(name="plus")([left, right])
    return keras.Model(x, layers.Dense(1, name="out")(total + 1.0), name="branchy")


def nested():
    layers = keras.layers
    x = keras.Input((8, 8, 3))
    base = keras.Model(x, layers.BatchNormalization()(layers.Conv2D(4, 3, name="c")(x)), name="base")
    y = keras.Input((8, 8, 3))
    return keras.Model(y, layers.GlobalAveragePooling2D()(base(y)), name="outer")


def unbuilt():
    return keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(2)], name="unbuilt")


def compiled(make, optimizer="adam"):
    model = make()
    model.compile(optimizer, "mse")
    model.optimizer.build(model.trainable_variables)
    return model


def not_trainable(make):
    model = make()
    model.trainable = False
    return model


def two_inputs():
    layers = keras.layers
    a, b = keras.Input((4,), name="a"), keras.Input((3,), name="b")
    shared = layers.Dense(5, name="shared")
    joined = layers.Concatenate(name="both")([shared(a), layers.Dense(4)(b)])
    again = shared(layers.Dense(4, name="to_four")(joined))
    return keras.Model(
        [a, b], [layers.Dense(1, name="y")(again), layers.Dense(2, name="z")(joined)], name="two"
    )


def large():
    return keras.Sequential(
        [keras.Input((1000,)), keras.layers.Dense(1000), keras.layers.Dense(3000)], name="big"
    )


SUMMARIES = [  # (name, model, columns of the terminal, summary arguments)
    ("sequential", simple, 80, {}),
    ("sequential_compiled", lambda: compiled(simple), 80, {}),
    ("lenet", lenet, 80, {}),
    ("lenet_compiled_sgd", lambda: compiled(lenet, "sgd"), 80, {}),
    ("unbuilt", unbuilt, 80, {}),
    ("branches", branchy, 80, {}),
    ("nested", nested, 80, {}),
    ("nested_expanded", nested, 80, {"expand_nested": True}),
    ("nested_trainable", lambda: not_trainable(nested), 80, {"expand_nested": True, "show_trainable": True}),
    ("line_length_60", simple, 80, {"line_length": 60}),
    ("sequential_wide", simple, 200, {}),
    ("branches_wide", branchy, 200, {}),
    (
        "nested_trainable_wide",
        lambda: not_trainable(nested),
        200,
        {"expand_nested": True, "show_trainable": True},
    ),
    ("two_inputs", two_inputs, 80, {}),
    ("large", large, 80, {}),
    ("layer_range", simple, 80, {"layer_range": ["conv2d", "flatten"]}),
]


def summary_case(name, make, columns, arguments, terminal=False):
    keras.backend.clear_session()
    os.environ["COLUMNS"] = str(columns)
    model = make()
    if not terminal:
        lines = []
        model.summary(print_fn=lines.append, **arguments)
        return {
            "name": name,
            "columns": columns,
            "arguments": arguments,
            "terminal": False,
            "text": "".join(lines),
        }
    stream = Terminal()
    os.environ.update(TERM="xterm", COLORTERM="")
    with contextlib.redirect_stdout(stream):
        model.summary(**arguments)
    return {
        "name": name,
        "columns": columns,
        "arguments": arguments,
        "terminal": True,
        "text": stream.getvalue(),
    }


def messages(callbacks, epochs=2, target=2.0):
    """Lines written by callbacks during a fit on inputs of zero, so that nothing changes: the loss is target squared."""
    keras.backend.clear_session()
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    model.compile(keras.optimizers.SGD(0.01), "mse")
    x, y = np.zeros((4, 1), "float32"), np.full((4, 1), target, "float32")
    stream = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(stream):
        model.fit(
            x, y, epochs=epochs, verbose=0, validation_data=(x, y), callbacks=callbacks(pathlib.Path(folder))
        )
        files = {p.name: p.read_text() for p in sorted(pathlib.Path(folder).iterdir()) if p.suffix == ".csv"}
        text = stream.getvalue().replace(folder, "<folder>")
    return {"text": text, **({"files": files} if files else {})}


def message_cases():
    c = keras.callbacks
    yield {
        "name": "model_checkpoint_best",
        **messages(
            lambda f: [
                c.ModelCheckpoint(
                    str(f / "m.weights.h5"),
                    monitor="loss",
                    save_best_only=True,
                    save_weights_only=True,
                    verbose=1,
                )
            ]
        ),
    }
    yield {
        "name": "model_checkpoint_every",
        **messages(
            lambda f: [
                c.ModelCheckpoint(
                    str(f / "m-{epoch:02d}-{val_loss:.2f}.weights.h5"), save_weights_only=True, verbose=1
                )
            ]
        ),
    }
    yield {
        "name": "learning_rate_scheduler",
        **messages(lambda f: [c.LearningRateScheduler(lambda e: 0.5 / (e + 1), verbose=1)]),
    }
    yield {
        "name": "reduce_on_plateau",
        **messages(lambda f: [c.ReduceLROnPlateau(patience=1, factor=0.5, verbose=1)], epochs=4),
    }
    yield {"name": "early_stopping", **messages(lambda f: [c.EarlyStopping(verbose=1, patience=1)], epochs=5)}
    yield {
        "name": "early_stopping_restores",
        **messages(lambda f: [c.EarlyStopping(verbose=1, patience=2, restore_best_weights=True)], epochs=5),
    }
    yield {"name": "terminate_on_nan", **messages(lambda f: [c.TerminateOnNaN()], target=float("inf"))}
    yield {"name": "csv_logger", **messages(lambda f: [c.CSVLogger(str(f / "log.csv"))])}
    yield {
        "name": "csv_logger_separator",
        **messages(lambda f: [c.CSVLogger(str(f / "log.csv"), separator=";")]),
    }


def generate(seed, out):
    io_utils.enable_interactive_logging()
    progress = [progress_case(*c) for c in PROGRESS]
    summaries = [summary_case(*c) for c in SUMMARIES]
    summaries.append(summary_case("sequential_compiled", lambda: compiled(simple), 80, {}, terminal=True))
    write_json(
        out / "console.json",
        {**header(seed), "progress": progress, "summaries": summaries, "messages": list(message_cases())},
    )
