"""Models of one family of layers each, written by Keras with their compile state: what they predict, and what three
steps of SGD make of predictions and weights.

A family is a module `layers_<family>.py` (or `op_nodes.py`) whose MODELS lists
    (name, make, inputs[, targets[, whole]])
`make()` returns a keras.Model; `inputs` and `targets` hold one entry per input and output: a shape without the batch,
("int", shape, high) for words 0 ... high - 1, ("distinct", shape) where a maximum must not tie, or ("positive", shape).
Without `targets` every output is drawn towards random numbers of its own shape. The last step has fewer rows, unless the model takes `whole` batches only.

The archives are deflated; they hold the time of writing, so that their bytes differ from run to run.
"""

import importlib
import pathlib
import zipfile

import keras
import numpy as np

from .common import Random, header, named, tensors, write_json

FAMILIES = sorted(
    [path.stem for path in pathlib.Path(__file__).parent.glob("layers_*.py")]
    + [path.stem for path in pathlib.Path(__file__).parent.glob("op_nodes.py")]
)
ROWS, STEPS, RATE = 4, 3, 0.05


def data(random, spec):
    if spec[0] == "int":
        return random.integers(ROWS, *spec[1], high=spec[2])
    if spec[0] == "distinct":
        return random.distinct(ROWS, *spec[1], scale=2.0)
    if spec[0] == "positive":
        return random.uniform(ROWS, *spec[1], low=0.1, high=2.0)
    return random.normal(ROWS, *spec)


def deflate(path):
    """Packs the members of an archive, which Keras stores, and with one date."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def rounded(entries):
    """Results need no more digits than their tolerance."""
    for entry in entries:
        entry["data"] = [float(f"{v:.7g}") if isinstance(v, float) else v for v in entry["data"]]
    return entries


def one(values):
    return values[0] if len(values) == 1 else values


def nested(structure, values):
    """As a model nests its inputs or outputs."""
    is_plain = structure is None or isinstance(structure, list)
    return one(values) if is_plain else keras.tree.pack_sequence_as(structure, values)


def ends(model):
    return getattr(model, "_inputs_struct", None), getattr(model, "_outputs_struct", None)


def predicted(model, x):
    result = model.predict(nested(ends(model)[0], x), batch_size=ROWS, verbose=0)
    return [np.asarray(value) for value in keras.tree.flatten(result)]


def case(seed, out, family, name, make, inputs, targets=None, whole=False):
    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)
    random = Random(seed, "layer_models", family, name)
    model = make()
    for weight in model.weights:
        if np.issubdtype(weight.numpy().dtype, np.floating) and weight.name != "seed_generator_state":
            low = 0.5 if weight.name in ("gamma", "moving_variance", "variance", "scale") else -0.5
            weight.assign(random.uniform(*weight.shape, low=low, high=low + 1.0))
    for layer in model.layers:
        if isinstance(layer, keras.layers.Normalization):
            layer.finalize_state()  # it computes with a copy of its weights
    model.compile(optimizer=keras.optimizers.SGD(RATE), loss="mse")
    x = [data(random, spec) for spec in inputs]
    before = predicted(model, x)
    shapes = targets or [value.shape[1:] for value in before]
    y = [random.normal(ROWS, *shape) for shape in shapes]
    model.save(out / f"{name}.keras")
    deflate(out / f"{name}.keras")
    for step in range(STEPS):
        rows = ROWS - 1 if step == STEPS - 1 and not whole else ROWS
        model.train_on_batch(
            nested(ends(model)[0], [value[:rows] for value in x]),
            nested(ends(model)[1], [value[:rows] for value in y]),
        )
    return {
        "file": name,
        "family": family,
        **({"whole": True} if whole else {}),
        "x": tensors(x),
        "y": tensors(y),
        "prediction": rounded(tensors(before)),
        "trained": rounded(tensors(predicted(model, x))),
        "weights": rounded(named([w for w in model.weights if w.name != "seed_generator_state"])),
    }


def generate(seed, out):
    cases = []
    for family in FAMILIES:
        for entry in importlib.import_module(f"areas.{family}").MODELS:
            cases.append(case(seed, out, family, *entry))
    write_json(out / "layer_models.json", {**header(seed), "cases": cases})
