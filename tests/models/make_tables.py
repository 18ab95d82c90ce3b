"""Writes the layers of every architecture of keras.applications as Keras makes them: layer_tables.txt.gz.

Run with Keras 3.15 and any backend: `KERAS_BACKEND=tensorflow python make_tables.py`. Weights are zeros, since only
their shapes count.

One architecture begins with a line `@ name top|notop parameters trainable_parameters shared`; `shared` rows at its
beginning are those of the table before it. Then one line for each operation in the order of the model:
name, class, settings, output shape without the batch, inputs, weights; divided by tabs. An input `^` is the row above.
Settings are those that differ from the line `= class settings`, which holds the defaults.
"""

import gc
import gzip
import inspect
import pathlib

import keras
from keras.src.initializers import random_initializers

NAMES = sorted(
    name for name in dir(keras.applications)
    if inspect.isfunction(getattr(keras.applications, name)) and name[0].isupper())

# What no configuration of Nyala's shows, or what every layer has.
HIDDEN = {
    "name", "trainable", "dtype", "batch_shape", "sparse", "ragged", "optional", "data_format", "seed", "synchronized",
    "renorm", "renorm_clipping", "renorm_momentum", "layers", "build_input_shape", "registered_name",
    "quantization_config", "lora_rank", "lora_alpha",
    "kernel_regularizer", "bias_regularizer", "activity_regularizer", "kernel_constraint", "bias_constraint",
    "beta_regularizer", "gamma_regularizer", "beta_constraint", "gamma_constraint", "depthwise_regularizer",
    "pointwise_regularizer", "depthwise_constraint", "pointwise_constraint", "rms_scaling",
}


def without_draws():
    """Random initializers give zeros."""
    def zeros(self, shape, dtype=None):
        return keras.ops.zeros(shape, dtype)

    random_initializers.VarianceScaling.__call__ = zeros


def flat(values):
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from flat(value)
        else:
            yield value


def text(value):
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return "(" + ",".join(text(item) for item in flat(value)) + ")"
    if isinstance(value, dict) and "class_name" in value:
        inner = value.get("config") or {}
        shown = ("%s=%s" % (key, text(inner[key])) for key in ("scale", "mode", "distribution", "value")
                 if value["class_name"] in ("VarianceScaling", "Constant") and key in inner)
        return value["class_name"] + "<" + ";".join(shown) + ">"
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, (int, float)):
        return "%.9g" % value
    return str(value)


def settings_of(layer):
    return {key: text(value) for key, value in layer.get_config().items() if key not in HIDDEN}


class Defaults:
    """The settings of each class' first layer, which the others are told apart from."""

    def __init__(self):
        self.of_class = {}
        self.lines = []

    def differing(self, layer):
        settings = settings_of(layer)
        name = layer.__class__.__name__
        if name not in self.of_class:
            self.of_class[name] = settings
            self.lines.append("= %s %s" % (name, "|".join("%s=%s" % item for item in settings.items())))
        defaults = self.of_class[name]
        shown = "|".join("%s=%s" % item for item in settings.items() if defaults[item[0]] != item[1])
        if isinstance(layer, keras.Sequential):
            shown = " ".join("%s:%s{%s}" % (inner.name, inner.__class__.__name__, self.differing(inner))
                             for inner in layer.layers)
        return shown


def rows_of(model, defaults):
    rows, above = [], None
    for operation in model.operations:
        is_layer = isinstance(operation, keras.Layer)
        tensors = operation._inbound_nodes[0].input_tensors
        producers = [tensor._keras_history.operation for tensor in tensors]
        inputs = [producer.name for producer in producers if producer is not operation]
        weights = []
        for weight in operation.weights if is_layer else []:
            path = weight.path.split(operation.name + "/", 1)[1]  # NASNet's stand in name scopes
            weights.append("%s(%s)" % (path, ",".join(map(str, weight.shape))))
        shape = operation._inbound_nodes[0].output_tensors[0].shape[1:]
        rows.append("\t".join([
            operation.name, operation.__class__.__name__, defaults.differing(operation) if is_layer else "",
            ",".join(map(str, shape)), " ".join("^" if name == above else name for name in inputs),
            " ".join(weights)]))
        above = operation.name
    return rows


def count(weights):
    return sum(int(keras.ops.size(weight)) for weight in weights)


def main():
    without_draws()
    defaults, tables, before = Defaults(), [], []
    for name in NAMES:
        for top in (True, False):
            keras.backend.clear_session()
            model = getattr(keras.applications, name)(weights=None, include_top=top)
            rows = rows_of(model, defaults)
            shared = 0
            while shared < min(len(rows), len(before)) and rows[shared] == before[shared]:
                shared += 1
            tables.append("@ %s %s %d %d %d" % (name, "top" if top else "notop", count(model.weights),
                                                 count(model.trainable_weights), shared))
            tables.extend(rows[shared:])
            before = rows
            del model
            gc.collect()
        print(name, len(before), flush=True)
    body = "\n".join(defaults.lines + tables) + "\n"
    path = pathlib.Path(__file__).parent / "layer_tables.txt.gz"
    path.write_bytes(gzip.compress(body.encode(), 9, mtime=0))
    print(len(NAMES), "architectures,", len(body), "characters,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
