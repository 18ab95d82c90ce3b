"""Two models that learn against each other, each with an optimizer of its own: own_optimizers.keras is saved after two
epochs, the JSON says how training goes on. Keras takes the optimizers' state from a file where they are built with the
model. tests/golden/own_optimizers_test.cpp has the same class."""

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from .common import header, named, write_json
from .layer_models import deflate


def network(inputs, outputs):
    return keras.Sequential(
        [keras.Input((inputs,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(outputs)]
    )


@keras.saving.register_keras_serializable("pkg")
class Duel(keras.Model):
    def __init__(self, **others):
        super().__init__(**others)
        self.maker, self.critic = network(2, 3), network(3, 1)
        self.maker_optimizer = keras.optimizers.Adam(0.02)
        self.critic_optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
        self.maker_optimizer.build(self.maker.trainable_variables)
        self.critic_optimizer.build(self.critic.trainable_variables)

    def call(self, x):
        return self.critic(self.maker(x))

    def train_step(self, data):
        noise, real = data
        with tf.GradientTape() as tape:
            loss = ops.mean(ops.softplus(-self.critic(real)) + ops.softplus(self.critic(self.maker(noise))))
        weights = self.critic.trainable_variables
        self.critic_optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        with tf.GradientTape() as tape:
            loss = ops.mean(ops.softplus(-self.critic(self.maker(noise))))
        weights = self.maker.trainable_variables
        self.maker_optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"maker_loss": loss}


def waves(*shape, factor):
    return np.sin(factor * np.arange(1, np.prod(shape) + 1)).astype("float32").reshape(shape)


def go_on(model, epochs):
    model.fit(waves(23, 2, factor=1.9), waves(23, 3, factor=0.7), batch_size=5, epochs=epochs, shuffle=False, verbose=0)


def values(model):
    optimizers = [model.maker_optimizer, model.critic_optimizer]
    return {"weights": named(model.weights), "iterations": [int(o.iterations) for o in optimizers]}


def generate(seed, out):
    model = Duel()
    model.compile()
    model.build((None, 2))
    go_on(model, 2)
    model.save(out / "own_optimizers.keras")
    deflate(out / "own_optimizers.keras")
    before = values(model)
    go_on(model, 2)
    write_json(out / "own_optimizers.json", {**header(seed), "before": before, "after": values(model)})
