"""Layers of categories: what they give for chosen numbers, what they learn, and files that Keras writes of them."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from .common import Random, header, tensor, write_json
from .layer_models import deflate

MANY = 1 << 40
NUMBERS = np.array([[3, 7, 9], [7, 7, -1000], [0, 5, MANY]], dtype="int64")
COLUMN = NUMBERS[:, :1]
TOKENS = [7, 3, 5]

CASES = [  # class, config, inputs
    ("Hashing", {"num_bins": 5}, [NUMBERS]),
    ("Hashing", {"num_bins": 5}, [NUMBERS[0].astype("int32")]),
    ("Hashing", {"num_bins": 1, "mask_value": 7}, [NUMBERS]),
    ("Hashing", {"num_bins": 4, "mask_value": 7}, [NUMBERS]),
    ("Hashing", {"num_bins": 1000003, "salt": 133}, [NUMBERS]),
    ("Hashing", {"num_bins": 1000003, "salt": [133, -7]}, [NUMBERS]),
    ("Hashing", {"num_bins": 5, "dtype": "int32"}, [NUMBERS]),
    ("Hashing", {"num_bins": 5}, [np.array([[1.9, -2.7, 3.0]], dtype="float32")]),
    ("Hashing", {"num_bins": 5, "output_mode": "one_hot"}, [COLUMN]),
    ("Hashing", {"num_bins": 5, "output_mode": "multi_hot"}, [NUMBERS]),
    ("Hashing", {"num_bins": 5, "output_mode": "count", "mask_value": 7}, [NUMBERS]),
    ("HashedCrossing", {"num_bins": 1000003}, [NUMBERS[0], NUMBERS[1]]),
    ("HashedCrossing", {"num_bins": 7}, [COLUMN, COLUMN + 1, COLUMN * 3]),
    ("HashedCrossing", {"num_bins": 7, "output_mode": "one_hot"}, [COLUMN, COLUMN + 1]),
    ("HashedCrossing", {"num_bins": 7, "output_mode": "one_hot"}, [NUMBERS[0], NUMBERS[1]]),
    ("IntegerLookup", {"vocabulary": TOKENS}, [NUMBERS]),
    ("IntegerLookup", {"vocabulary": TOKENS, "num_oov_indices": 3}, [NUMBERS]),
    ("IntegerLookup", {"vocabulary": TOKENS, "num_oov_indices": 3, "oov_method": "farmhash"}, [NUMBERS]),
    ("IntegerLookup", {"vocabulary": TOKENS, "num_oov_indices": 3, "oov_method": "farmhash", "salt": 4}, [NUMBERS]),
    ("IntegerLookup", {"vocabulary": TOKENS, "mask_token": 0}, [NUMBERS]),
    ("IntegerLookup", {"vocabulary": [0, -1] + TOKENS, "mask_token": 0}, [NUMBERS]),
    ("IntegerLookup", {"vocabulary": TOKENS, "mask_token": 0, "num_oov_indices": 0}, [np.array([[0, 3, 5]])]),
    ("IntegerLookup", {"vocabulary": TOKENS, "mask_token": 0, "invert": True}, [np.array([[0, 1, 2, 3, 4, 9, -2]])]),
    ("IntegerLookup", {"vocabulary": TOKENS, "invert": True, "oov_token": -5}, [np.array([[0, 1, 2, 3, 4, 9, -2]])]),
    ("IntegerLookup", {"vocabulary": TOKENS, "output_mode": "one_hot"}, [COLUMN]),
    ("IntegerLookup", {"vocabulary": TOKENS, "output_mode": "one_hot", "mask_token": 9}, [NUMBERS]),
    ("IntegerLookup", {"vocabulary": TOKENS, "output_mode": "multi_hot", "mask_token": 0}, [NUMBERS]),
    ("IntegerLookup", {"vocabulary": TOKENS, "output_mode": "count"}, [NUMBERS]),
    (
        "IntegerLookup",
        {"vocabulary": TOKENS, "output_mode": "count", "pad_to_max_tokens": True, "max_tokens": 6},
        [NUMBERS],
    ),
    ("IntegerLookup", {"vocabulary": TOKENS, "output_mode": "tf_idf", "idf_weights": [0.5, 0.25, 2.0]}, [NUMBERS]),
    (
        "IntegerLookup",
        {"vocabulary": [-1] + TOKENS, "output_mode": "tf_idf", "idf_weights": [9.0, 0.5, 0.25, 2.0]},
        [NUMBERS],
    ),
]

ADAPTED = [
    ({}, (9, 4)),
    ({}, (30,)),
    ({"max_tokens": 6, "mask_token": 2}, (9, 4)),
    ({"max_tokens": 6, "num_oov_indices": 2}, (9, 4)),
    ({"output_mode": "tf_idf"}, (9, 4)),
    ({"output_mode": "tf_idf", "max_tokens": 12, "pad_to_max_tokens": True, "num_oov_indices": 2}, (9, 4)),
    ({"output_mode": "tf_idf"}, (12,)),
]
BATCH = 4


def values(name, config, inputs):
    result = getattr(layers, name)(**config)(inputs if len(inputs) > 1 else inputs[0])
    return {
        "name": name,
        "config": config,
        "x": [tensor(x) for x in inputs],
        "y": tensor(keras.ops.convert_to_numpy(result)),
    }


def adapted(seed, config, shape):
    x = Random(seed, "lookups", str(config), str(shape)).integers(*shape, low=-1, high=8).astype("int64")
    whole, parts = layers.IntegerLookup(**config), layers.IntegerLookup(**config)
    whole.adapt(x)
    parts.adapt(tf.data.Dataset.from_tensor_slices(x).batch(BATCH))
    result = {"name": "IntegerLookup", "config": config, "x": tensor(x)}
    for which, layer in (("", whole), ("_of_batches", parts)):
        result["vocabulary" + which] = [int(token) for token in layer.get_vocabulary()]
        result["y" + which] = tensor(keras.ops.convert_to_numpy(layer(x)))
    return result


def filed(out):
    """A model whose vocabularies lie beside its configuration."""
    x = keras.Input((3,), dtype="int64", name="x")
    plain, weighing, given = (
        layers.IntegerLookup(mask_token=0, name="plain"),
        layers.IntegerLookup(output_mode="tf_idf", name="weighing"),
        layers.IntegerLookup(vocabulary=TOKENS, output_mode="multi_hot", name="given"),
    )
    seen = np.array([[1, 1, 1], [2, 2, 9], [1, 4, -1]], dtype="int64")
    plain.adapt(seen)
    weighing.adapt(seen)
    crossed = layers.HashedCrossing(11, name="crossed")([x[:, :1], x[:, 1:2]])
    outputs = [plain(x), weighing(x), given(x), layers.Hashing(9, salt=2, name="hashed")(x), crossed]
    model = keras.Model(x, outputs)
    model.save(out / "lookups.keras")
    deflate(out / "lookups.keras")
    data = np.array([[1, 2, 9], [4, 4, 77], [0, -1, 7]], dtype="int64")
    results = model(data)
    return {"x": tensor(data), "y": [tensor(keras.ops.convert_to_numpy(y)) for y in results]}


def generate(seed, out):
    write_json(
        out / "lookups.json",
        {
            **header(seed),
            "cases": [values(*case) for case in CASES],
            "adapted": [adapted(seed, *case) for case in ADAPTED],
            "file": filed(out),
        },
    )
