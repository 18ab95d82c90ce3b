#!/usr/bin/env python3
"""The training steps of train_throughput in Keras on TensorFlow (CPU): one JSON line.

    python keras_train.py --model resnet20 --threads 2 --seconds 10 --compile graph
    python keras_train.py --model resnet20 --devices 2 --threads 2

--compile graph: what fit runs, an iterator over batches that are in memory; step: a hand-written tf.function; xla:
the same with jit_compile; batch: train_on_batch. With --devices: MirroredStrategy on logical CPUs; graph and step
(strategy.run) only. --inference: what predict runs (graph only). Every replica has a part of the batch of its own
in memory, so splitting costs nothing.
"""

import os
import platform

import common

OPTIONS = common.arguments(__doc__.splitlines()[0], ["graph", "step", "xla", "batch"])
common.limit_threads(OPTIONS.threads)
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers  # noqa: E402

tf.config.threading.set_intra_op_parallelism_threads(OPTIONS.threads)
tf.config.threading.set_inter_op_parallelism_threads(OPTIONS.threads)
keras.utils.set_random_seed(0)
keras.config.set_dtype_policy(OPTIONS.dtype)
STRATEGY = tf.distribute.get_strategy()
if OPTIONS.devices > 1:
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * OPTIONS.devices
    )
    STRATEGY = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(OPTIONS.devices)])


def normalized(x, filters, size, stride):
    x = layers.Conv2D(filters, size, stride, padding="same", use_bias=False)(x)
    return layers.BatchNormalization()(x)


def resnet20():
    inputs = keras.Input((32, 32, 3))
    x = layers.ReLU()(normalized(inputs, 16, 3, 1))
    width = 16
    for filters, first in ((16, 1), (32, 2), (64, 2)):
        for index in range(3):
            stride = first if index == 0 else 1
            shortcut = x if stride == 1 and width == filters else normalized(x, filters, 1, stride)
            y = layers.ReLU()(normalized(x, filters, 3, stride))
            x = layers.ReLU()(layers.Add()([normalized(y, filters, 3, 1), shortcut]))
            width = filters
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def lenet5():
    return keras.Sequential([
        keras.Input((28, 28, 1)),
        layers.Conv2D(6, 5, padding="same", activation="sigmoid"), layers.AveragePooling2D(2),
        layers.Conv2D(16, 5, activation="sigmoid"), layers.AveragePooling2D(2), layers.Flatten(),
        layers.Dense(120, activation="sigmoid"), layers.Dense(84, activation="sigmoid"), layers.Dense(10)])  # fmt: skip


def lenet():
    return keras.Sequential([
        keras.Input((28, 28, 1)), layers.Rescaling(1 / 255.0),
        layers.Conv2D(20, 3, activation="relu"), layers.AveragePooling2D(2),
        layers.Conv2D(50, 5, activation="relu"), layers.AveragePooling2D(2),
        layers.Flatten(), layers.Dense(128, activation="relu"), layers.Dense(10)])  # fmt: skip


def mlp():
    return keras.Sequential([
        keras.Input((784,)), layers.Dense(512, activation="relu"), layers.Dense(512, activation="relu"), layers.Dense(10)
    ])  # fmt: skip


def lstm():
    return keras.Sequential([keras.Input((100, 128)), layers.LSTM(128), layers.Dense(10)])


def transformer():
    inputs = keras.Input((128, 256))
    x = layers.LayerNormalization()(layers.Add()([inputs, layers.MultiHeadAttention(8, 32)(inputs, inputs)]))
    y = layers.Dense(256)(layers.Dense(1024, activation="relu")(x))
    z = layers.LayerNormalization()(layers.Add()([x, y]))
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(z)))


def resnet18():
    """d2l's for Fashion-MNIST: a stem of 3x3 with neither stride nor pooling."""
    inputs = keras.Input((28, 28, 1))
    x, width = layers.ReLU()(normalized(inputs, 64, 3, 1)), 64
    for filters in (64, 128, 256, 512):
        for index in range(2):
            stride = 2 if index == 0 and filters > 64 else 1
            shortcut = x if width == filters else normalized(x, filters, 1, stride)
            y = layers.ReLU()(normalized(x, filters, 3, stride))
            x = layers.ReLU()(layers.Add()([normalized(y, filters, 3, 1), shortcut]))
            width = filters
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def application(make):
    shape = common.INPUTS[OPTIONS.model]
    return make(input_shape=shape, weights=None, classifier_activation=None)


def resnet50():
    return application(keras.applications.ResNet50)


def mobilenet_v2():
    return application(keras.applications.MobileNetV2)


def xception():
    return application(keras.applications.Xception)


def part_of_replica(x, y):
    """A dataset that repeats the rows of one replica, the same ones for all: what they hold costs no time."""
    rows = OPTIONS.batch // OPTIONS.devices
    return tf.data.Dataset.from_tensors((x[:rows], y[:rows])).cache().repeat().prefetch(2)


def fit_steps(model, x, y):
    """fit's own compiled step over a repeated batch in memory, without callbacks or input pipeline costs of Python."""
    if OPTIONS.devices > 1:
        data = iter(STRATEGY.distribute_datasets_from_function(lambda context: part_of_replica(x, y)))
    else:
        data = iter(part_of_replica(x, y))
    train = model.make_train_function() or model.train_function

    def run_steps(count):
        logs = None
        for _ in range(count):
            logs = train(data)
        float(logs["loss"])

    return run_steps


def predict_steps(model, x):
    """predict's own compiled step."""
    data = iter(tf.data.Dataset.from_tensors((x,)).cache().repeat().prefetch(2))
    predict = model.make_predict_function() or model.predict_function

    def run_steps(count):
        outputs = None
        for _ in range(count):
            outputs = predict([next(data)])
        outputs.numpy()

    return run_steps


def hand_written_steps(model, x, y, xla):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
    optimizer = model.optimizer

    def replica_step(images, labels):
        with tf.GradientTape() as tape:
            value = loss(labels, model(images, training=True)) / OPTIONS.batch
        optimizer.apply(tape.gradient(value, model.trainable_variables), model.trainable_variables)
        return value

    @tf.function(jit_compile=xla)
    def step(images, labels):
        if OPTIONS.devices == 1:
            return replica_step(images, labels)
        return STRATEGY.reduce("SUM", STRATEGY.run(replica_step, (images, labels)), None)

    rows = OPTIONS.batch // OPTIONS.devices
    images, labels = tf.constant(x[:rows]), tf.constant(y[:rows])
    if OPTIONS.devices > 1:
        images, labels = (
            STRATEGY.experimental_distribute_values_from_function(lambda context, part=part: tf.identity(part))
            for part in (images, labels)
        )

    def run_steps(count):
        value = None
        for _ in range(count):
            value = step(images, labels)
        float(value)

    return run_steps


def batch_steps(model, x, y):
    def run_steps(count):
        for _ in range(count):
            model.train_on_batch(x, y)

    return run_steps


def main():
    if OPTIONS.devices > 1 and OPTIONS.compile not in ("graph", "step"):
        raise SystemExit(f"--compile {OPTIONS.compile} is not for several devices")
    if OPTIONS.inference and (OPTIONS.devices > 1 or OPTIONS.compile != "graph"):
        raise SystemExit("--inference is for one device and --compile graph")
    small = (lenet5, lenet, resnet20, mlp, lstm, transformer)
    networks = {network.__name__: network for network in (*small, resnet18, resnet50, mobilenet_v2, xception)}
    OPTIONS.memory_before = common.memory("VmRSS")
    with STRATEGY.scope():
        model = networks[OPTIONS.model]()
        optimizer = keras.optimizers.SGD(common.LEARNING_RATE, momentum=common.MOMENTUM)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer, loss, jit_compile=False)
        optimizer.build(model.trainable_variables)
    rng = np.random.default_rng(0)
    x = rng.random((OPTIONS.batch, *common.INPUTS[OPTIONS.model]), dtype="float32")
    if OPTIONS.model == "lenet":
        x *= 255.0
    y = rng.integers(0, common.classes(OPTIONS), OPTIONS.batch)
    if OPTIONS.inference:
        run_steps = predict_steps(model, x)
    elif OPTIONS.compile == "graph":
        run_steps = fit_steps(model, x, y)
    elif OPTIONS.compile == "batch":
        run_steps = batch_steps(model, x, y)
    else:
        run_steps = hand_written_steps(model, x, y, OPTIONS.compile == "xla")
    times, count = common.measure(OPTIONS, run_steps)
    versions = {"keras": keras.__version__, "tensorflow": tf.__version__, "python": platform.python_version()}
    mirrored = "_mirrored" if OPTIONS.devices > 1 else ""
    common.report(f"keras_{OPTIONS.compile}{mirrored}", OPTIONS, times, count, versions)


if __name__ == "__main__":
    main()
