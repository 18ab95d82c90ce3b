"""A training loop of one's own: examples/own_training_loop.cpp in Keras."""
import sys

import keras
import tensorflow as tf
from keras import layers

from data import fashion_mnist

keras.utils.set_random_seed(1)
rows, epochs = [int(argument) for argument in sys.argv[1:3]] or (12800, 2)
train, test = fashion_mnist()
batches = tf.data.Dataset.from_tensor_slices(train).take(rows).shuffle(rows).batch(128)
test_batches = tf.data.Dataset.from_tensor_slices(test).take(rows // 5).batch(128)

net = keras.Sequential([keras.Input((28, 28, 1)), layers.Rescaling(1 / 255), layers.Conv2D(16, 3),
                        layers.BatchNormalization(), layers.ReLU(), layers.MaxPooling2D(2), layers.Flatten(),
                        layers.Dropout(0.3), layers.Dense(10, kernel_regularizer=keras.regularizers.L2(1e-4))])
schedule = keras.optimizers.schedules.CosineDecay(3e-3, epochs * len(batches))
optimizer = keras.optimizers.Adam(schedule)
loss_of_epoch = keras.metrics.Mean()
accuracy = keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = net(x, training=True)
        losses = keras.losses.sparse_categorical_crossentropy(y, logits, from_logits=True)
        loss = tf.reduce_mean(losses) + sum(net.losses)
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))
    loss_of_epoch.update_state(losses)
    accuracy.update_state(y, logits)


for epoch in range(1, epochs + 1):
    for x, y in batches:
        train_step(x[..., None], y)
    train_accuracy = accuracy.result()
    accuracy.reset_state()
    for x, y in test_batches:
        accuracy.update_state(y, net(x[..., None]))
    print(f"epoch {epoch}: loss {loss_of_epoch.result():.4f}, accuracy {train_accuracy:.4f}, "
          f"test accuracy {accuracy.result():.4f}")
    loss_of_epoch.reset_state()
    accuracy.reset_state()

net.save("loop.keras")
loaded = keras.models.load_model("loop.keras")
images = test[0][:100, ..., None]
print("the loaded model differs by", abs(net.predict(images, verbose=0) - loaded.predict(images, verbose=0)).max())
