"""Layers, a loss and a metric of one's own: examples/own_layers_and_losses.cpp in Keras."""
import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable("mine")
class Scale(layers.Layer):
    def __init__(self, initial=1.0, **kwargs):
        super().__init__(**kwargs)
        self.initial = initial

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer=keras.initializers.Constant(self.initial))
        self.shift = self.add_weight(shape=(shape[-1],), initializer="zeros")

    def call(self, x):
        return x * self.scale + self.shift

    def get_config(self):
        return {**super().get_config(), "initial": self.initial}


@keras.saving.register_keras_serializable("mine")
class Residual(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.scale, self.dense, self.dropout = Scale(0.5), layers.Dense(units), layers.Dropout(0.1)

    def call(self, x):
        return x + self.dense(self.dropout(ops.relu(self.scale(x))))

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable("mine")
class Lopsided(keras.losses.Loss):
    def __init__(self, factor=1.0, name="lopsided", **kwargs):
        super().__init__(name=name, **kwargs)
        self.factor = factor

    def call(self, y_true, y_pred):
        error = y_pred - y_true
        return ops.mean(ops.where(error < 0, -self.factor * error, error), axis=-1)

    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


@keras.saving.register_keras_serializable("mine")
def share_below(y_true, y_pred):
    return ops.cast(y_pred < y_true, "float32")


keras.utils.set_random_seed(1)
x = np.random.normal(size=(1000, 8)).astype("float32")
y = abs(x).sum(axis=1, keepdims=True) + np.random.normal(size=(1000, 1))
inputs = keras.Input((8,))
hidden = layers.Dense(16, activation="relu")(inputs)
for _ in range(2):
    hidden = Residual(16)(hidden)
model = keras.Model(inputs, layers.Dense(1)(hidden))
model.compile(optimizer="adam", loss=Lopsided(9.0), metrics=[share_below])
history = model.fit(x, y, epochs=30, verbose=0).history
print(f"loss {history['loss'][0]:.3f} to {history['loss'][-1]:.3f}, below the truth: {history['share_below'][-1]:.3f}")

model.save("own.keras")
loaded = keras.models.load_model("own.keras")
print("the loaded model differs by", abs(model.predict(x, verbose=0) - loaded.predict(x, verbose=0)).max())
history = loaded.fit(x, y, epochs=1, verbose=0).history
print(f"and goes on: loss {history['loss'][0]:.3f}, below the truth: {history['share_below'][0]:.3f}")
