"""Adapted layers: a model of each, adapted by LoRA, its factors drawn, as Keras saves and computes it."""

import keras
import numpy as np
from keras import layers

from .common import Random, header, tensor, tensors, write_json
from .layer_models import deflate

RANK = 2


def model_of(alpha):
    words, image = keras.Input((5,), dtype="int32", name="words"), keras.Input((6, 6, 3), name="image")
    adapted = [
        layers.Embedding(7, 4, name="embedding"),
        layers.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="de", name="einsum_dense"),
        layers.Conv2D(4, 3, name="conv2d"),
        layers.Conv1D(3, 2, name="conv1d"),
        layers.Dense(5, activation="tanh", name="dense"),
    ]
    embedding, einsum, conv2d, conv1d, dense = adapted
    sequence = einsum(embedding(words))
    sequence = conv1d(layers.Reshape((5, 6))(sequence))
    pictures = layers.GlobalAveragePooling2D()(conv2d(image))
    joined = layers.Concatenate()([layers.Flatten()(sequence), pictures])
    model = keras.Model([words, image], dense(joined))
    for layer in adapted:
        layer.enable_lora(RANK, lora_alpha=alpha)
    return model


def generate(seed, out):
    cases = []
    for alpha in (None, 6):
        keras.backend.clear_session()
        random = Random(seed, "lora", str(alpha))
        model = model_of(alpha)
        for weight in model.weights:
            weight.assign(random.uniform(*weight.shape, low=-0.5, high=0.5))
        name = f"lora_{alpha or 'plain'}"
        model.save(out / f"{name}.keras")
        deflate(out / f"{name}.keras")
        x = [random.integers(4, 5, high=7), random.normal(4, 6, 6, 3)]
        weights = [(w.path, bool(w.trainable), w.numpy()) for w in model.weights]
        prediction = model.predict(x, verbose=0)
        y = random.normal(*prediction.shape)
        model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
        for _ in range(3):
            model.train_on_batch(x, y)
        cases.append(
            {
                "file": name,
                "alpha": alpha,
                "x": tensors(x),
                "y": tensor(y),
                "weights": [{"path": p, "trainable": t, **tensor(v)} for p, t, v in weights],
                "prediction": tensor(prediction),
                "trained": tensors([w.numpy() for w in model.weights]),
                "trained_prediction": tensor(np.asarray(model.predict(x, verbose=0))),
            }
        )
    write_json(out / "lora.json", {**header(seed), "rank": RANK, "cases": cases})
