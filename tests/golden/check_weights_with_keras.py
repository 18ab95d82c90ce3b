"""Exchanges weights files and whole models with the real Keras, both ways.

    check_weights_with_keras.py build/release/tests/programs/weights_models

needs the Python packages of README.md and the program `weights_models`, which has the same models as this file.
Checked for each model: our file loads in Keras without a warning and gives our predictions; its groups, their names
and its datasets are those of a file that Keras writes; Keras' optimizer takes its state; our .keras and .h5 open in
Keras, compiled, with our predictions and state, and train on; our .safetensors has the values by variable path (with the
package safetensors its own reader opens it); and the same from Keras to us.
"""

import json
import os
import subprocess
import sys
import tempfile
import warnings

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import h5py
import keras
import numpy as np
from keras import layers

ROWS = 12
TOLERANCE = 2e-6


class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.steps = [layers.Dense(4, activation="tanh"), layers.Dense(4, activation="tanh")]
        self.norm = layers.BatchNormalization()
        self._gate = layers.Dense(4, activation="sigmoid")

    def call(self, x, training=None):
        for step in self.steps:
            x = step(x)
        return self._gate(self.norm(x, training=training))


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.wide = layers.Dense(4, activation="relu")
        self.block = Block()
        self.chain = [layers.Dense(4, activation="tanh"), Block(), layers.Dense(5)]
        self.out = layers.Dense(3)

    def call(self, x, training=None):
        x = self.block(self.wide(x), training=training)
        x = self.chain[1](self.chain[0](x), training=training)
        return self.out(self.chain[2](x))


def mlp():
    return keras.Sequential(
        [keras.Input((6,)), layers.Dense(8, activation="relu"), layers.Dropout(0.25), layers.Dense(3)]
    )


def conv_bn():
    x = keras.Input((8, 8, 2))
    a = layers.BatchNormalization()(layers.Conv2D(4, 3, padding="same", use_bias=False)(x))
    b = layers.Conv2D(4, 3, padding="same", activation="relu")(a)
    total = layers.Add()([a, b])
    pooled = layers.MaxPooling2D()(layers.ReLU()(total))
    wide = layers.Concatenate()([pooled, layers.Conv2D(3, 1)(pooled)])
    wide = layers.BatchNormalization(scale=False)(wide)
    return keras.Model(x, layers.Dense(3)(layers.GlobalAveragePooling2D()(wide)))


def nested():
    inner_x = keras.Input((5,))
    inner = layers.Dense(6, activation="relu")(inner_x)
    functional = keras.Model(inner_x, layers.Dense(4, activation="tanh")(inner))
    tail = keras.Sequential([keras.Input((4,)), layers.Dense(3, activation="tanh")])
    chain = keras.Sequential(
        [keras.Input((4,)), layers.Dense(4, activation="relu"), layers.BatchNormalization(), tail]
    )
    x = keras.Input((5,))
    return keras.Model(x, layers.Dense(3)(chain(functional(x))))


def shared():
    p, q = keras.Input((4,)), keras.Input((4,))
    twin = layers.Dense(4, activation="tanh")
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(5, activation="relu"), layers.Dense(4)])
    left, right = twin(p), inner(twin(q))
    return keras.Model([p, q], layers.Dense(3)(inner(layers.Add()([left, right]))))


def frozen():
    model = keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(8, activation="relu", trainable=False),
            layers.BatchNormalization(),
            layers.Dense(5, activation="tanh"),
            layers.Dense(3),
        ]
    )
    model.layers[1].trainable = False
    return model


def subclassed():
    model = Net()
    model(np.zeros((1, 6), "float32"))
    return model


def decaying():
    return keras.optimizers.schedules.ExponentialDecay(0.01, 4, 0.5)


MODELS = {  # name: (model, shapes of the inputs, optimizer)
    "mlp": (mlp, [(6,)], lambda: keras.optimizers.Adam(0.02)),
    "conv_bn": (conv_bn, [(8, 8, 2)], lambda: keras.optimizers.SGD(0.05, momentum=0.9)),
    "nested": (nested, [(5,)], lambda: keras.optimizers.RMSprop(decaying(), momentum=0.3, centered=True)),
    "shared": (
        shared,
        [(4,), (4,)],
        lambda: keras.optimizers.Adam(amsgrad=True, use_ema=True, gradient_accumulation_steps=2),
    ),
    "frozen": (frozen, [(6,)], lambda: keras.optimizers.Adam()),
    "subclassed": (subclassed, [(6,)], lambda: keras.optimizers.Adam()),
}


def compiled(name):
    make, _, optimizer = MODELS[name]
    keras.backend.clear_session()
    model = make()
    model.compile(optimizer(), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.optimizer.build(model.trainable_variables)
    return model


def contents(path):
    """Path -> None or the `name` attribute for groups, shape and dtype for datasets."""
    found = {}

    def visit(path, item):
        if isinstance(item, h5py.Dataset):
            found[path] = (item.shape, str(item.dtype))
        else:
            found[path] = item.attrs.get("name")

    with h5py.File(path, "r") as file:
        file.visititems(visit)
        assert set(file.attrs) <= {"nyala_names_crc32c"}
    return found


def without_numbers(contents):
    """Automatic names differ in their numbers: the program makes all models in one process."""
    def plain(value):
        return value.rstrip("_0123456789") if isinstance(value, str) else value

    return {path: plain(value) for path, value in contents.items()}


def inputs(folder, name):
    with h5py.File(f"{folder}/{name}.data.h5", "r") as file:
        x = [file[f"x{i}"][()] for i in range(len(MODELS[name][1]))]
        return x, file["prediction"][()]


def predict(model, x):
    return model.predict(x if len(x) > 1 else x[0], verbose=0)


def check_ours(folder, name):
    path = f"{folder}/{name}.weights.h5"
    model = compiled(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.load_weights(path)
    x, expected = inputs(folder, name)
    difference = np.abs(predict(model, x) - expected).max()
    again = f"{folder}/{name}_again.weights.h5"
    model.save_weights(again)
    ours, keras_own = without_numbers(contents(path)), without_numbers(contents(again))
    assert ours == keras_own, (name, set(ours.items()) ^ set(keras_own.items()))
    with h5py.File(path, "r") as a, h5py.File(again, "r") as b:
        for dataset, value in keras_own.items():
            if isinstance(value, tuple):
                np.testing.assert_array_equal(a[dataset][()], b[dataset][()], err_msg=f"{name} {dataset}")
    print(f"{name:12} Nyala -> Keras: predictions {difference:.3g}, {len(ours)} groups and datasets the same, "
          f"iterations {int(model.optimizer.variables[0].numpy())}")
    assert difference < TOLERANCE


def legacy_state(path):
    with h5py.File(path, "r") as file:
        group = file["optimizer_weights"]
        return [group[name][()] for name in group.attrs["weight_names"]]


def check_our_models(folder, name):
    x, expected = inputs(folder, name)
    weights = compiled(name)
    weights.load_weights(f"{folder}/{name}.weights.h5")
    for suffix in (".keras", ".h5"):
        keras.backend.clear_session()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = keras.models.load_model(f"{folder}/{name}{suffix}")
        difference = np.abs(predict(model, x) - expected).max()
        # Keras' reader of .h5 builds the optimizer for no variables and leaves the state out: look into the file.
        state = legacy_state(f"{folder}/{name}.h5") if suffix == ".h5" else [
            variable.numpy() for variable in model.optimizer.variables
        ]
        for ours, theirs in zip(state, weights.optimizer.variables, strict=True):
            np.testing.assert_array_equal(ours, theirs.numpy(), err_msg=f"{name}{suffix}")
        if suffix == ".h5":  # Keras does not train on what it opened from a .h5 of its own either
            model.compile(MODELS[name][2](), model.loss)
        labels = np.zeros(ROWS, "int64")
        history = model.fit(x if len(x) > 1 else x[0], labels, epochs=3, verbose=0).history["loss"]
        assert history[-1] < history[0], (name, suffix, history)
        print(f"{name:12} Nyala -> Keras: {suffix:6} predictions {difference:.3g}, optimizer state equal, trains on")
        assert difference < TOLERANCE


def check_our_safetensors(folder, name):
    with open(f"{folder}/{name}.safetensors", "rb") as file:
        content = file.read()
    length = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    arrays = {
        key: np.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
        for key, entry in header.items()
    }
    model = compiled(name)
    model.load_weights(f"{folder}/{name}.weights.h5")
    assert len(arrays) == len(model.weights), (name, list(arrays))
    for array, weight in zip(arrays.values(), model.weights):
        np.testing.assert_array_equal(array, weight.numpy())
    try:
        from safetensors.numpy import load_file
    except ImportError:
        return
    for key, value in load_file(f"{folder}/{name}.safetensors").items():
        np.testing.assert_array_equal(value, arrays[key])


def write_keras(folder, name):
    random = np.random.default_rng(len(name))
    model = compiled(name)
    x = [random.normal(size=(ROWS, *shape)).astype("float32") for shape in MODELS[name][1]]
    y = random.integers(0, 3, ROWS)
    # With use_ema the end of fit overwrites the weights, as in Nyala.
    model.fit(x if len(x) > 1 else x[0], y, batch_size=4, epochs=2, verbose=0)
    with h5py.File(f"{folder}/{name}.data.h5", "w") as file:
        for i, values in enumerate(x):
            file[f"x{i}"] = values
        file["prediction"] = predict(model, x)
    model.save_weights(f"{folder}/{name}.weights.h5")
    if name != "subclassed":
        for suffix in (".keras", ".h5"):
            model.save(f"{folder}/{name}{suffix}")
    return int(model.optimizer.variables[0].numpy())


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "save", folder], check=True)
        for name in MODELS:
            check_ours(folder, name)
            check_our_safetensors(folder, name)
            if name != "subclassed":
                check_our_models(folder, name)
    with tempfile.TemporaryDirectory() as folder:
        steps = {name: write_keras(folder, name) for name in MODELS}
        run = subprocess.run([program, "load", folder], check=True, capture_output=True, text=True)
        assert not run.stderr, run.stderr
        for line in run.stdout.splitlines():
            name, difference, iterations = line.split()
            print(f"{name:12} Keras -> Nyala: predictions {difference}, iterations {iterations}")
            assert float(difference) < TOLERANCE
            per_update = 2 if name == "shared" else 1
            assert int(iterations) == steps[name] // per_update, (name, steps[name], iterations)


if __name__ == "__main__":
    main()
