"""What every area needs: a seeded generator per case, and the form in which arrays and numbers are written."""

import json
import math
import os
import zlib

import numpy as np


def configure_keras():
    """Fixes everything that could make two runs differ. Call before Keras is imported."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    os.environ["PYTHONHASHSEED"] = "0"
    os.environ["COLUMNS"] = "80"
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.experimental.enable_op_determinism()


def reset(seed):
    """Forgets the automatic layer names and fixes Keras' own seeds."""
    import keras

    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)


class Random:
    """Random arrays that depend on the seed and on the name of the case only, not on the order of cases."""

    def __init__(self, seed, *names):
        self._rng = np.random.default_rng([seed, zlib.crc32("/".join(names).encode())])

    def normal(self, *shape, scale=1.0):
        return (scale * self._rng.standard_normal(shape)).astype("float32")

    def uniform(self, *shape, low=0.0, high=1.0):
        return self._rng.uniform(low, high, shape).astype("float32")

    def integers(self, *shape, low=0, high):
        return self._rng.integers(low, high, shape).astype("int32")

    def one_hot(self, rows, classes):
        return np.eye(classes, dtype="float32")[self._rng.integers(0, classes, rows)]

    def probabilities(self, rows, classes):
        return self._rng.dirichlet(np.ones(classes), rows).astype("float32")

    def distinct(self, *shape, scale=1.0):
        """Values of which no two are closer than 2 * scale / count: a maximum is never a tie."""
        count = int(np.prod(shape))
        values = np.linspace(-scale, scale, count) + self._rng.uniform(0, 0.2 * scale / count, count)
        return self._rng.permutation(values).reshape(shape).astype("float32")


def number(value):
    """9 significant digits carry a float32 exactly; what JSON lacks is a string."""
    value = float(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(f"{value:.9g}")


def tensor(value):
    """{"shape": [...], "data": [row-major values]}; "dtype" is named where it is not float32."""
    array = np.asarray(value)
    if array.dtype == np.float64:
        array = array.astype("float32")
    result = {"shape": list(array.shape)}
    if array.dtype != np.float32:
        result["dtype"] = str(array.dtype)
    if np.issubdtype(array.dtype, np.floating):
        result["data"] = [number(v) for v in array.reshape(-1)]
    else:
        result["data"] = [int(v) for v in array.reshape(-1)]
    return result


def tensors(values):
    return [tensor(v) for v in values]


def named(variables):
    """Variables in order, each with its name, path, shape and value."""
    return [{"name": v.name, "path": v.path, **tensor(v.numpy())} for v in variables]


def gradient(function, arrays, upstream=None):
    """function(*arrays) and the gradients of sum(function * upstream) with respect to every array."""
    import tensorflow as tf

    variables = [tf.Variable(a) for a in arrays]
    with tf.GradientTape() as tape:
        out = function(*variables)
        total = tf.reduce_sum(out if upstream is None else out * upstream)
    gradients = tape.gradient(total, variables)
    return out.numpy(), [tf.convert_to_tensor(g).numpy() if g is not None else None for g in gradients]


def header(seed):
    import keras
    import tensorflow as tf

    return {"seed": seed, "keras": keras.__version__, "tensorflow": tf.__version__}


def write_json(path, content):
    """One case per line, so that a change of one case is a change of one line."""

    def dump(value):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)

    lines = []
    for key, value in content.items():
        if isinstance(value, list) and value:
            body = ",\n".join(dump(item) for item in value)
            lines.append(f"{dump(key)}:[\n{body}\n]")
        else:
            lines.append(f"{dump(key)}:{dump(value)}")
    write_bytes(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def write_bytes(path, data):
    """Written beside and renamed: an interrupted run leaves the old file whole."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_bytes(data)
    os.replace(temporary, path)
