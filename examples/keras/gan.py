"""A generative adversarial network on Fashion-MNIST: examples/gan.cpp in Keras."""
import sys

import keras
import tensorflow as tf
from keras import layers, ops

from data import fashion_mnist

LATENT = 64


def make_generator():
    return keras.Sequential([keras.Input((LATENT,)), layers.Dense(7 * 7 * 64), layers.LeakyReLU(0.2),
                             layers.Reshape((7, 7, 64)),
                             layers.Conv2DTranspose(64, 4, strides=2, padding="same"), layers.LeakyReLU(0.2),
                             layers.Conv2DTranspose(32, 4, strides=2, padding="same"), layers.LeakyReLU(0.2),
                             layers.Conv2D(1, 5, padding="same", activation="sigmoid")])


def make_discriminator():
    return keras.Sequential([keras.Input((28, 28, 1)), layers.Conv2D(32, 4, strides=2, padding="same"),
                             layers.LeakyReLU(0.2), layers.Conv2D(64, 4, strides=2, padding="same"),
                             layers.LeakyReLU(0.2), layers.Flatten(), layers.Dropout(0.2), layers.Dense(1)])


class Gan(keras.Model):
    def __init__(self):
        super().__init__()
        self.generator, self.discriminator = make_generator(), make_discriminator()
        self.generator_optimizer = keras.optimizers.Adam(3e-4, beta_1=0.5)
        self.discriminator_optimizer = keras.optimizers.Adam(3e-4, beta_1=0.5)
        self.generator_loss = keras.metrics.Mean(name="generator_loss")
        self.discriminator_loss = keras.metrics.Mean(name="discriminator_loss")
        self.seed_generator = keras.random.SeedGenerator()

    def train_step(self, real):
        latent = keras.random.normal((ops.shape(real)[0], LATENT), seed=self.seed_generator)

        def loss_against(label, logits):
            return ops.mean(keras.losses.binary_crossentropy(label * ops.ones_like(logits), logits, from_logits=True))

        with tf.GradientTape() as tape:
            loss = (loss_against(0.9, self.discriminator(real, training=True))
                    + loss_against(0.0, self.discriminator(self.generator(latent, training=True), training=True)))
        weights = self.discriminator.trainable_variables
        self.discriminator_optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        self.discriminator_loss.update_state(loss)
        with tf.GradientTape() as tape:
            loss = loss_against(1.0, self.discriminator(self.generator(latent, training=True), training=True))
        weights = self.generator.trainable_variables
        self.generator_optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        self.generator_loss.update_state(loss)
        return {"generator_loss": self.generator_loss.result(), "discriminator_loss": self.discriminator_loss.result()}

    @property
    def metrics(self):
        return [self.generator_loss, self.discriminator_loss]


keras.utils.set_random_seed(1)
rows, epochs = [int(argument) for argument in sys.argv[1:3]] or (60000, 10)
x = fashion_mnist()[0][0][:rows, ..., None].astype("float32") / 255
gan = Gan()
gan.compile()
gan.fit(x, batch_size=128, epochs=epochs, verbose=2)
gan.generator.save("generator.keras")
loaded = keras.models.load_model("generator.keras", compile=False)
images = loaded.predict(keras.random.normal((16, LATENT)), verbose=0)
print(f"16 images {images.shape}, mean {images.mean():.3f} (real ones {x.mean():.3f})")
