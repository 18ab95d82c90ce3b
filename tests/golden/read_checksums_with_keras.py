"""Opens files with Nyala's checksums in the real Keras.

    read_checksums_with_keras.py [--write PROGRAM]      needs the Python packages of README.md

data/checksums.weights.h5 was written by Nyala: its attributes nyala_crc32c and nyala_names_crc32c are none that Keras
knows. The script loads it into the same model, as weights and as a .keras around it, without a warning, and
compares the predictions and the optimizer's state with checksums.json. --write makes both anew: PROGRAM is
build/release/tests/programs/weights_models.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import warnings
import zipfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import h5py
import keras
import numpy as np
from keras import layers

DATA = pathlib.Path(__file__).parent / "data"
WEIGHTS, EXPECTED = DATA / "checksums.weights.h5", DATA / "checksums.json"


def model():
    net = keras.Sequential(
        [keras.Input((6,)), layers.Dense(8, activation="relu"), layers.Dropout(0.25), layers.Dense(3)], name="mlp"
    )
    net.compile(optimizer="adam", loss="mse")
    return net


def whole_file(folder):
    """A .keras whose weights are Nyala's file."""
    path, own = folder / "checksums.keras", folder / "own.keras"
    model().save(own)
    with zipfile.ZipFile(own) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            target.writestr(name, WEIGHTS.read_bytes() if name == "model.weights.h5" else source.read(name))
    return path


def attributes():
    names = []
    with h5py.File(WEIGHTS) as file:
        names += [f"/@{name}" for name in file.attrs]
        file.visititems(lambda path, item: names.extend(f"/{path}@{name}" for name in item.attrs))
    return sorted(names)


def results(net, x):
    state = [np.asarray(variable).ravel().tolist() for variable in net.optimizer.variables]
    return {"y": net.predict(x, verbose=0).ravel().tolist(), "optimizer": state}


def main():
    warnings.simplefilter("error", UserWarning)
    if "--write" in sys.argv:
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run([sys.argv[-1], "save", scratch], check=True, stdout=subprocess.DEVNULL)
            shutil.copy(pathlib.Path(scratch) / "mlp.weights.h5", WEIGHTS)
    x = np.linspace(-1, 1, 24, dtype="float32").reshape(4, 6)
    net = model()
    net.optimizer.build(net.trainable_variables)
    net.load_weights(WEIGHTS)
    found = results(net, x)
    with tempfile.TemporaryDirectory() as scratch:
        assert results(keras.saving.load_model(whole_file(pathlib.Path(scratch))), x) == found
    found |= {"x": x.ravel().tolist(), "attributes": attributes()}
    if "--write" in sys.argv:
        EXPECTED.write_text(json.dumps(found) + "\n")
    expected = json.loads(EXPECTED.read_text())
    assert np.allclose(found["y"], expected["y"], atol=1e-6), "Keras predicts something else"
    assert all(found[key] == expected[key] for key in ("optimizer", "attributes")), "Keras reads something else"
    with_checksum = sum(name.endswith("@nyala_crc32c") for name in found["attributes"])
    print(f"Keras {keras.__version__} opens {WEIGHTS.name} and a .keras around it; {with_checksum} datasets have checksums")


main()
