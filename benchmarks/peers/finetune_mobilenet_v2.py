#!/usr/bin/env python3
"""examples/finetune_mobilenet_v2.cpp in Keras on TensorFlow (CPU): the same data, network, two phases and options.

    python finetune_mobilenet_v2.py --data ~/.nyala/datasets --threads 2
    python finetune_mobilenet_v2.py --data ~/.nyala/datasets --devices 2 --rows 512 --head-epochs 2 --tune-epochs 1

Needs below --data: cifar10/lossless_train_4053.bin.gz, cifar10/lossless_test_761.bin.gz and
weights/derived_mobilenet_v2_0.35_128_imagenet_notop.h5. --devices above 1: MirroredStrategy on logical CPUs.
"""

import argparse
import gzip
import os
import pathlib
import resource
import time


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, required=True, help="the folder that holds cifar10 and weights")
    parser.add_argument("--rows", type=int, default=4053)
    parser.add_argument("--head-epochs", type=int, default=10)
    parser.add_argument("--tune-epochs", type=int, default=10)
    parser.add_argument("--devices", type=int, default=1, help="the batch is 64 rows for each")
    parser.add_argument("--batch", type=int, default=128, help="with one device: the batch of the two of the example")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--verbose", type=int, default=2)
    parser.add_argument("--output", default="finetuned.keras")
    return parser.parse_args()


OPTIONS = options()
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

SIZE = 128


def strategy():
    tf.config.threading.set_intra_op_parallelism_threads(OPTIONS.threads)
    tf.config.threading.set_inter_op_parallelism_threads(OPTIONS.threads)
    if OPTIONS.devices == 1:
        return tf.distribute.get_strategy()
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * OPTIONS.devices
    )
    return tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(OPTIONS.devices)])


def records(name):
    """Images (rows, 32, 32, 3) and labels of a file of CIFAR-10's binary version."""
    data = np.frombuffer(gzip.open(OPTIONS.data / "cifar10" / name).read(), np.uint8).reshape(-1, 3073)[: OPTIONS.rows]
    return data[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).copy(), data[:, 0].astype("int64")


def resized(image, label):
    return tf.cast(tf.round(tf.image.resize(image, (SIZE, SIZE))), tf.uint8), label


def make_model():
    base = keras.applications.MobileNetV2(
        input_shape=(SIZE, SIZE, 3), alpha=0.35, include_top=False, weights=None, pooling="avg"
    )
    base.load_weights(OPTIONS.data / "weights" / "derived_mobilenet_v2_0.35_128_imagenet_notop.h5")
    base.trainable = False
    images = keras.Input((SIZE, SIZE, 3))
    features = base(keras.layers.Rescaling(1 / 127.5, offset=-1.0)(images))
    outputs = keras.layers.Dense(10, activation="softmax")(keras.layers.Dropout(0.2)(features))
    return base, keras.Model(images, outputs, name="finetuned")


def unfreeze_last_blocks(base):
    """All from block 6 on trains but BatchNormalization, which stays in inference mode."""
    base.trainable = True
    last = False
    for layer in base.layers:
        last = last or layer.name == "block_6_expand"
        layer.trainable = last and not isinstance(layer, keras.layers.BatchNormalization)


def train(name, model, rate, epochs, data, threshold):
    train_data, test_data = data
    with STRATEGY.scope():
        model.compile(keras.optimizers.Adam(rate), "sparse_categorical_crossentropy", metrics=["accuracy"])
    best = keras.callbacks.ModelCheckpoint(
        OPTIONS.output, monitor="val_accuracy", save_best_only=True, initial_value_threshold=threshold
    )
    start = time.perf_counter()
    history = model.fit(
        train_data, epochs=epochs, validation_data=test_data, callbacks=[best], verbose=OPTIONS.verbose
    )
    accuracy = history.history["val_accuracy"]
    print(
        f"{name}: {epochs} epochs in {time.perf_counter() - start:.1f} s, accuracy {accuracy[-1]:.4f}, "
        f"best {max(accuracy):.4f}",
        flush=True,
    )
    return max(accuracy)


STRATEGY = strategy()


def main():
    keras.utils.set_random_seed(OPTIONS.seed)
    batch = 64 * OPTIONS.devices if OPTIONS.devices > 1 else OPTIONS.batch
    train_data = (
        tf.data.Dataset.from_tensor_slices(records("lossless_train_4053.bin.gz"))
        .map(resized, num_parallel_calls=tf.data.AUTOTUNE)
        .cache()
        .shuffle(1024)
        .batch(batch)
        .prefetch(tf.data.AUTOTUNE)
    )
    test_data = tf.data.Dataset.from_tensor_slices(records("lossless_test_761.bin.gz")).map(resized).cache()
    data = train_data, test_data.batch(batch).prefetch(tf.data.AUTOTUNE)
    with STRATEGY.scope():
        base, model = make_model()
    head = train("head", model, 1e-3, OPTIONS.head_epochs, data, 0.0)
    unfreeze_last_blocks(base)
    tuned = train("last blocks", model, 1e-4, OPTIONS.tune_epochs, data, head)
    loaded = keras.models.load_model(OPTIONS.output).evaluate(data[1], verbose=0)[1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"head {head:.4f}, last blocks {tuned:.4f}, loaded from {OPTIONS.output}: {loaded:.4f}, peak memory {peak:.0f} MB"
    )


main()
