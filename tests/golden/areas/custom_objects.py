"""A model by subclassing, trained with a loss, metrics, an optimizer, a schedule, an initializer, a regularizer, a
constraint and functions of the user's, all registered: custom_objects.keras is saved after two epochs, the JSON says
how training goes on. tests/api/saving/custom_objects.h has the same classes. And a layer with an activation that only
`custom_objects` knows, as Nyala writes the hard_sigmoid of Keras 2."""

import keras
import numpy as np
from keras import ops

from .common import header, write_json

registered = keras.saving.register_keras_serializable("pkg")


@registered
def my_activation(x):
    return ops.relu(x) * 2.0


@registered
def my_loss(t, p):
    return ops.mean(ops.abs(t - p), axis=-1)


class Factor:
    def __init__(self, factor=0.1):
        self.factor = factor

    def get_config(self):
        return {"factor": self.factor}


@registered
class MyRegularizer(Factor, keras.regularizers.Regularizer):
    def __call__(self, w):
        return ops.sum(ops.square(w)) * self.factor


@registered
class MyConstraint(Factor, keras.constraints.Constraint):
    def __call__(self, w):
        return ops.clip(w, -self.factor, self.factor)


@registered
class MyInitializer(Factor, keras.initializers.Initializer):
    def __call__(self, shape, dtype=None):
        return ops.full(shape, self.factor, dtype=dtype)


@registered
class MySchedule(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, rate=0.1):
        self.rate = rate

    def __call__(self, step):
        return self.rate / (1.0 + ops.cast(step, "float32"))

    def get_config(self):
        return {"rate": self.rate}


@registered
class MyOptimizer(keras.optimizers.Optimizer):
    def __init__(self, learning_rate=0.01, momentum=0.5, name="my_optimizer", **others):
        super().__init__(learning_rate=learning_rate, name=name, **others)
        self.momentum = momentum

    def build(self, variables):
        if not self.built:
            super().build(variables)
            self.velocities = [self.add_variable_from_reference(v, "velocity") for v in variables]

    def update_step(self, gradient, variable, learning_rate):
        velocity = self.velocities[self._get_variable_index(variable)]
        self.assign(velocity, velocity * self.momentum + gradient)
        self.assign_sub(variable, velocity * ops.cast(learning_rate, variable.dtype))

    def get_config(self):
        return {**super().get_config(), "momentum": self.momentum}


@registered
class MyLoss(keras.losses.Loss):
    def __init__(self, alpha=1.0, name="my_loss_class", reduction="sum_over_batch_size", **others):
        super().__init__(name=name, reduction=reduction, **others)
        self.alpha = alpha

    def call(self, t, p):
        return ops.mean(ops.square(t - p), axis=-1) * self.alpha

    def get_config(self):
        return {**super().get_config(), "alpha": self.alpha}


@registered
class MyMetric(keras.metrics.Metric):
    def __init__(self, factor=1.0, name="my_metric", **others):
        super().__init__(name=name, **others)
        self.factor = factor
        self.largest = self.add_weight(shape=(), initializer=keras.initializers.Constant(-1e30), name="largest")
        self.sums = self.add_weight(shape=(2, 1), initializer="zeros", name="sums")

    def update_state(self, t, p, sample_weight=None):
        self.largest.assign(ops.maximum(self.largest, ops.max(p)))
        count = ops.cast(ops.shape(p)[0], "float32")
        self.sums.assign_add(ops.reshape(ops.stack([ops.sum(p), count]), (2, 1)))

    def reset_state(self):  # Keras' own sets everything to zero, whatever the initializers say
        self.largest.assign(-1e30)
        self.sums.assign(ops.zeros((2, 1)))

    def result(self):
        return (self.largest + self.sums[0, 0] / self.sums[1, 0]) * self.factor

    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


@registered
class Net(keras.Model):
    def __init__(self, units=3, **others):
        super().__init__(**others)
        self.units = units
        self.d = keras.layers.Dense(
            units,
            activation=my_activation,
            kernel_initializer=MyInitializer(0.25),
            kernel_regularizer=MyRegularizer(0.02),
            bias_constraint=MyConstraint(0.05),
        )
        self.e = keras.layers.Dense(1)

    def call(self, x):
        return self.e(self.d(x))

    def get_config(self):
        return {**super().get_config(), "units": self.units}


def data():
    """As in tests/golden/custom_objects_test.cpp."""
    x = np.sin(np.arange(69, dtype="float64")).astype("float32").reshape(23, 3)
    return x, np.cos(np.arange(23, dtype="float64")).astype("float32").reshape(23, 1)


def generate(seed, out):
    x, y = data()
    model = Net(units=4)
    model.compile(
        MyOptimizer(MySchedule(0.05), momentum=0.9),
        MyLoss(2.5),
        metrics=[MyMetric(3.0, name="own"), my_loss, "mae"],
    )
    go_on = dict(batch_size=5, epochs=2, shuffle=False, verbose=0)
    model.fit(x, y, **go_on)
    model.save(out / "custom_objects.keras")
    before = model.predict(x, verbose=0)
    history = model.fit(x, y, **go_on).history
    write_json(
        out / "custom_objects.json",
        {
            **header(seed),
            "before": before.ravel().tolist(),
            "history": history,
            "after": model.predict(x, verbose=0).ravel().tolist(),
        },
    )
