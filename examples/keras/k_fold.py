"""Five-fold cross-validation: examples/k_fold.cpp in Keras."""
import sys

import keras
import numpy as np
from keras import layers

FOLDS = 5


def make_model(width, x):
    normalize = layers.Normalization()
    normalize.adapt(x)
    model = keras.Sequential([keras.Input((5,)), normalize, layers.Dense(width, activation="relu"), layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(0.02), loss="mse", metrics=["mae"])
    return model


keras.utils.set_random_seed(1)
table = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1, dtype="float32")
x, y = table[:, :-1], table[:, -1:]
order = np.random.default_rng(1).permutation(len(x))

best_width, best = 0, np.inf
for width in [2, 8, 32]:
    errors = []
    for fold in range(FOLDS):
        test, train = order[fold::FOLDS], np.delete(order, np.s_[fold::FOLDS])
        model = make_model(width, x[train])
        model.fit(x[train], y[train], epochs=60, verbose=0)
        errors.append(model.evaluate(x[test], y[test], verbose=0, return_dict=True)["mae"])
    print(f"{width:2} units: mae {np.mean(errors):.2f} ({min(errors):.2f} to {max(errors):.2f})")
    if np.mean(errors) < best:
        best_width, best = width, np.mean(errors)

model = make_model(best_width, x)
model.fit(x, y, epochs=60, verbose=0)
model.save("best.keras")
mae = keras.models.load_model("best.keras").evaluate(x, y, verbose=0, return_dict=True)["mae"]
print(f"the best has {best_width} units; trained on all rows and loaded again: mae {mae:.2f}")
