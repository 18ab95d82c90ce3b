"""A variational autoencoder of Fashion-MNIST: examples/vae.cpp in Keras."""
import sys

import keras
import tensorflow as tf
from keras import layers, ops

from data import fashion_mnist

LATENT = 2


@keras.saving.register_keras_serializable("vae")
class Sampling(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator()

    def call(self, inputs):
        mean, log_variance = inputs
        noise = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_variance) * noise


def make_encoder():
    image = keras.Input((28, 28, 1))
    x = layers.Conv2D(32, 3, strides=2, padding="same", activation="relu")(image)
    x = layers.Conv2D(64, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Dense(16, activation="relu")(layers.Flatten()(x))
    mean, log_variance = layers.Dense(LATENT)(x), layers.Dense(LATENT)(x)
    return keras.Model(image, [mean, log_variance, Sampling()([mean, log_variance])])


def make_decoder():
    return keras.Sequential([keras.Input((LATENT,)), layers.Dense(7 * 7 * 64, activation="relu"),
                             layers.Reshape((7, 7, 64)),
                             layers.Conv2DTranspose(64, 3, strides=2, padding="same", activation="relu"),
                             layers.Conv2DTranspose(32, 3, strides=2, padding="same", activation="relu"),
                             layers.Conv2DTranspose(1, 3, padding="same", activation="sigmoid")])


@keras.saving.register_keras_serializable("vae")
class Vae(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.encoder, self.decoder = make_encoder(), make_decoder()
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.reconstruction = keras.metrics.Mean(name="reconstruction")
        self.divergence = keras.metrics.Mean(name="divergence")

    def call(self, x):
        return self.decoder(self.encoder(x)[2])

    def train_step(self, x):
        with tf.GradientTape() as tape:
            mean, log_variance, z = self.encoder(x, training=True)
            image = self.decoder(z, training=True)
            reconstruction_loss = ops.mean(ops.sum(keras.losses.binary_crossentropy(x, image), axis=(1, 2)))
            divergence_loss = -0.5 * ops.mean(
                ops.sum(1 + log_variance - ops.square(mean) - ops.exp(log_variance), axis=1))
            loss = reconstruction_loss + divergence_loss
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        self.loss_tracker.update_state(loss)
        self.reconstruction.update_state(reconstruction_loss)
        self.divergence.update_state(divergence_loss)
        return {metric.name: metric.result() for metric in self.metrics}


keras.utils.set_random_seed(1)
rows, epochs = [int(argument) for argument in sys.argv[1:3]] or (60000, 5)
x = fashion_mnist()[0][0][:rows, ..., None].astype("float32") / 255
vae = Vae()
vae.compile(optimizer=keras.optimizers.Adam(1e-3))
vae.fit(x, batch_size=128, epochs=epochs, verbose=2)
vae(x[:1])
vae.save("vae.keras")
loaded = keras.models.load_model("vae.keras")
codes = loaded.encoder.predict(x[:100], verbose=0)[0]
print("codes of the loaded model differ by", abs(codes - vae.encoder.predict(x[:100], verbose=0)[0]).max())
