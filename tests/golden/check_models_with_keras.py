#!/usr/bin/env python3
"""Exchanges whole models with an installed Keras, both ways, and trains them on both sides.

    python check_models_with_keras.py --nyala build/release/tools/nyala [--goldens tests/golden/data] [--only NAME ...]

For each model of the golden data, written by Keras:
    nyala trains Keras' file for an epoch and writes `.keras` and `.h5`; Keras does the same epoch by itself;
    Keras opens both, predicts, trains the `.keras` for another epoch and writes it; nyala opens that, predicts.
    (Keras 3.15 cannot train on what it reads from an `.h5`: it builds the optimizer for no variables.)
And for a model of Keras 2 with its hard_sigmoid: Keras opens what nyala converts it to, given the function.
Prints the largest differences of predictions. Fails where one exceeds 1e-4 of what the model predicts, 8/256 where it
computes in bfloat16.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras  # noqa: E402
import numpy as np  # noqa: E402

LIMIT = 1e-4
LIMIT_OF_MIXED = 8 / 256


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nyala", type=pathlib.Path, required=True, help="the built command")
    parser.add_argument("--goldens", type=pathlib.Path, default=pathlib.Path(__file__).parent / "data")
    parser.add_argument("--only", nargs="+", help="names of models")
    return parser.parse_args()


def arrays(entries):
    return [np.array(e["data"], dtype=e.get("dtype", "float32")).reshape(e["shape"]) for e in entries]


def one(values):
    return values[0] if len(values) == 1 else values


def nested(structure, values):
    """As a model nests its inputs or outputs."""
    is_plain = structure is None or isinstance(structure, list)
    return one(values) if is_plain else keras.tree.pack_sequence_as(structure, values)


def ends(model):
    return getattr(model, "_inputs_struct", None), getattr(model, "_outputs_struct", None)


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()[-300:]}")


def saved(folder, prefix, values):
    paths = []
    for index, value in enumerate(values):
        paths.append(folder / f"{prefix}{index}.npy")
        np.save(paths[-1], value)
    return paths


def repeated(option, paths):
    return [part for path in paths for part in (option, path)]


def distinct(names):
    """As nyala names several outputs of one layer."""
    found = []
    for name in names:
        candidates = [name] + [f"{name}_{i}" for i in range(1, len(names))]
        found.append(next(c for c in candidates if c not in found))
    return found


def predicted_by_nyala(nyala, model, inputs, folder, outputs):
    out = folder / ("out.npy" if len(outputs) == 1 else "out.npz")
    run([nyala, "predict", model, *repeated("--input", inputs), "--output", out])
    arrays = np.load(out)
    return [arrays] if len(outputs) == 1 else [arrays[name] for name in distinct(outputs)]


def predicted_by_keras(model, x):
    result = model.predict(nested(ends(model)[0], x), verbose=0)
    return [np.asarray(value).astype("float32") for value in keras.tree.flatten(result)]


def trained_by_keras(model, x, y):
    inputs, outputs = ends(model)
    model.fit(nested(inputs, x), nested(outputs, y), batch_size=len(x[0]), epochs=1, shuffle=False, verbose=0)
    return model


def apart(first, second):
    return max(
        float(np.max(np.abs(a.astype("float64") - b) / np.maximum(1.0, np.abs(b)), initial=0.0))
        for a, b in zip(first, second, strict=True)
    )


def reads_its_own(model, path):
    """Keras cannot read every model that it writes as `.h5`."""
    model.save(path)
    try:
        keras.saving.load_model(path)
    except Exception:  # noqa: BLE001
        return False
    return True


def exchange(options, folder, name, case):
    """How far predictions are apart: of nyala's files in Keras (.h5, .keras), of Keras' answer in nyala. None: Keras
    does not read this model from the .h5 that it writes itself."""
    source, x, y = options.goldens / f"{name}.keras", arrays(case["x"]), arrays(case["y"])
    inputs, targets = saved(folder, "x", x), saved(folder, "y", y)
    own = trained_by_keras(keras.saving.load_model(source), x, y)
    expected = predicted_by_keras(own, x)
    found = []
    for suffix in (".h5", ".keras"):
        written = folder / f"written{suffix}"
        run([options.nyala, "fit", source, *repeated("--input", inputs), *repeated("--target", targets), "--no-shuffle",
             "--batch-size", len(x[0]), "--epochs", 1, "--verbose", 0, "--output", written])  # fmt: skip
        try:
            read = keras.saving.load_model(written)
        except Exception:  # noqa: BLE001
            if suffix == ".keras" or reads_its_own(own, folder / "own.h5"):
                raise
            found.append(None)
            continue
        found.append(apart(predicted_by_keras(read, x), expected))
    trained_by_keras(own, x, y)
    trained_by_keras(read, x, y)
    found.append(apart(predicted_by_keras(read, x), predicted_by_keras(own, x)))
    read.save(folder / "answer.keras")
    names = getattr(read, "output_names", [read.layers[-1].name])  # a Sequential model has none
    named = ends(read)[1]
    if isinstance(named, dict) and all(keras.utils.is_keras_tensor(value) for value in named.values()):
        names = sorted(named)
    again = predicted_by_nyala(options.nyala, folder / "answer.keras", inputs, folder, names)
    found.append(apart(again, predicted_by_keras(read, x)))
    return found


def converted(options, folder):
    """How far Keras' prediction of the converted model of Keras 2 is from what Keras 2 computes."""
    case = json.loads((options.goldens / "legacy_hard_sigmoid.json").read_text())
    run([options.nyala, "convert", options.goldens / "legacy_hard_sigmoid.h5", folder / "converted.keras"])
    function = {"legacy_hard_sigmoid": lambda x: keras.ops.clip(0.2 * x + 0.5, 0, 1)}
    model = keras.saving.load_model(folder / "converted.keras", custom_objects=function)
    return apart(predicted_by_keras(model, arrays(case["x"])), arrays(case["prediction"]))


def main():
    options = parse()
    cases = {}
    for area in ("model_files", "layer_models", "mixed_precision"):
        for case in json.loads((options.goldens / f"{area}.json").read_text())["cases"]:
            cases[case["file"]] = case
    failed = 0
    print("| model | .h5 | .keras | trained on | answer |\n|-|-|-|-|-|")
    for name, case in cases.items():
        if options.only and name not in options.only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = exchange(options, pathlib.Path(folder), name, case)
            except Exception as error:  # noqa: BLE001
                failed += 1
                print(f"| {name} | {type(error).__name__}: {str(error)[:400]} |", flush=True)
                continue
        limit = LIMIT_OF_MIXED if name.startswith("mixed_") else LIMIT
        failed += max(value for value in found if value is not None) > limit
        cells = ["not Keras' own" if value is None else f"{value:.1e}" for value in found]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    if not options.only or "legacy_hard_sigmoid" in options.only:
        with tempfile.TemporaryDirectory() as folder:
            found = converted(options, pathlib.Path(folder))
        failed += found > LIMIT
        print(f"| legacy_hard_sigmoid, converted | {found:.1e} |", flush=True)
    print(f"{failed} of {len(options.only or cases)} failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
