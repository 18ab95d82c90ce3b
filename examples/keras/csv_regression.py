"""The price of houses from a table: examples/csv_regression.cpp in Keras."""
import sys

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(1)
table = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1, dtype="float32")
x, y = table[:, :-1], table[:, -1:]
x_train, y_train, x_test, y_test = x[:500], y[:500], x[500:], y[500:]

normalize = layers.Normalization()
normalize.adapt(x_train)
model = keras.Sequential([keras.Input((5,)), normalize, layers.Dense(32, activation="relu"),
                          layers.Dense(32, activation="relu"), layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse", metrics=["mae"])
stop = keras.callbacks.EarlyStopping(monitor="val_loss", patience=20, restore_best_weights=True)
history = model.fit(x_train, y_train, batch_size=32, epochs=200, verbose=0, callbacks=[stop],
                    validation_split=0.2)
logs = model.evaluate(x_test, y_test, verbose=0, return_dict=True)
print(f"{len(history.history['loss'])} epochs, test mae {logs['mae']:.2f}")

model.save("houses.keras")
loaded = keras.models.load_model("houses.keras")
for price, truth in zip(loaded.predict(x_test[:3], verbose=0), y_test):
    print(f"predicted {price.item():.1f}, true {truth.item():.1f}")
