"""Operations of keras.ops between layers: every class that is built, in the forms that its arguments can take."""

import keras
import numpy as np
from keras import layers, ops


def floats(value):
    return ops.cast(value, "float32")


def through(*functions):
    """One input (4, 6) that a Dense layer reaches, and each function of it as an output."""

    def make():
        inputs = keras.Input((4, 6))
        x = layers.Dense(6)(inputs)
        return keras.Model(inputs, [function(x) for function in functions])

    return make


def arithmetic():
    a, b, n = keras.Input((4, 3)), keras.Input((4, 3)), keras.Input((4, 3), dtype="int32")
    constant = np.arange(3, dtype="float32")
    return keras.Model(
        [a, b, n],
        [
            a + b, a - b, a * b, a / b, a // b, a % b, abs(a) ** b, -a,
            a + 1, a - 2.5, 3 * a, 2 / b, 1 - a, a / 4, a**2, 2.0**a, a * constant, a + ops.ones((4, 1)),
            floats(n + 2), n / 2, n * 0.5, floats(n // 2), floats(n % 3), floats(-n),
            ops.maximum(a, b), ops.minimum(a, 0.5), ops.maximum(0.0, a), ops.arctan2(a, b),
            ops.divide_no_nan(a, floats(n)), ops.add(a, b), ops.subtract(x1=a, x2=b), ops.multiply(a, x2=b),
        ],
    )  # fmt: skip


def comparisons():
    a, b, n = keras.Input((4, 3)), keras.Input((4, 3)), keras.Input((4, 3), dtype="int32")
    small = a < b
    return keras.Model(
        [a, b, n],
        [
            floats(a > b), floats(a >= 0.1), floats(small), floats(b <= a), floats(ops.equal(n, 1)),
            floats(ops.not_equal(n, 2)), floats(small & (n > 0)), floats(small | (n > 1)), floats(~small),
            floats(small ^ (a > 0)), ops.where(small, a, b), ops.where(n > 1, a, 0.0), ops.where(small, 1.0, b),
            floats(ops.logical_not(n)), floats(ops.isnan(a)), floats(ops.isfinite(b)), floats(ops.isinf(a)),
        ],
    )  # fmt: skip


FUNCTIONS = [
    lambda x: ops.absolute(x), lambda x: ops.exp(x), lambda x: ops.expm1(x), lambda x: ops.log(ops.square(x) + 1.0),
    lambda x: ops.log1p(ops.abs(x)), lambda x: ops.log2(ops.square(x) + 0.5), lambda x: ops.log10(ops.square(x) + 0.5),
    lambda x: ops.sqrt(ops.square(x) + 0.1), lambda x: ops.rsqrt(ops.square(x) + 0.5), lambda x: ops.sign(x),
    lambda x: ops.reciprocal(ops.square(x) + 1.0), lambda x: ops.sin(x), lambda x: ops.cos(x), lambda x: ops.tan(x / 4),
    lambda x: ops.arcsin(ops.tanh(x) / 2), lambda x: ops.arccos(ops.tanh(x) / 2), lambda x: ops.arctan(x),
    lambda x: ops.sinh(x), lambda x: ops.cosh(x), lambda x: ops.arcsinh(x), lambda x: ops.arctanh(ops.tanh(x) / 2),
    lambda x: ops.arccosh(ops.square(x) + 1.5), lambda x: ops.floor(x), lambda x: ops.ceil(x), lambda x: ops.trunc(x),
    lambda x: ops.round(x), lambda x: ops.erf(x), lambda x: ops.clip(x, -0.5, 1), lambda x: ops.negative(x),
]  # fmt: skip
ACTIVATIONS = [
    lambda x: ops.relu(x), lambda x: ops.relu6(x), lambda x: ops.sigmoid(x), lambda x: ops.softplus(x),
    lambda x: ops.softsign(x), lambda x: ops.silu(x), lambda x: ops.log_sigmoid(x), lambda x: ops.hard_sigmoid(x),
    lambda x: ops.hard_silu(x), lambda x: ops.selu(x), lambda x: ops.leaky_relu(x), lambda x: ops.leaky_relu(x, 0.3),
    lambda x: ops.elu(x), lambda x: ops.elu(x, alpha=0.5), lambda x: ops.gelu(x), lambda x: ops.gelu(x, False),
    lambda x: ops.softmax(x), lambda x: ops.softmax(x, axis=1), lambda x: ops.log_softmax(x, axis=-1), ops.tanh,
    lambda x: ops.stop_gradient(x) * x, lambda x: ops.one_hot(ops.argmax(x, axis=-1), 6),
    lambda x: ops.celu(x, 0.7), lambda x: ops.glu(x), lambda x: ops.hard_tanh(x), lambda x: ops.tanh_shrink(x),
    lambda x: ops.soft_shrink(x), lambda x: ops.hard_shrink(x, 0.3), lambda x: ops.threshold(x, 0.1, -2.0),
    lambda x: ops.squareplus(x, b=2), lambda x: ops.sparse_plus(x), lambda x: ops.sparse_sigmoid(x),
    lambda x: ops.sparsemax(x), lambda x: ops.celu(x), lambda x: ops.squareplus(x),
    lambda x: ops.zeros_like(x) + x, lambda x: ops.ones_like(x) * x, lambda x: ops.full_like(x, 2.5) * x,
]  # fmt: skip
REDUCTIONS = [
    lambda x: ops.mean(x, axis=1), lambda x: ops.mean(x, axis=(1, 2), keepdims=True), lambda x: ops.sum(x, -1),
    lambda x: ops.sum(x, axis=[1], keepdims=True), lambda x: ops.max(x, axis=-1), lambda x: ops.min(x, (1, 2), True),
    lambda x: ops.amax(x, axis=1), lambda x: ops.amin(x, axis=2, keepdims=True), lambda x: ops.prod(x, axis=1),
    lambda x: ops.var(x, axis=-1), lambda x: ops.std(x, axis=1, keepdims=True), lambda x: ops.logsumexp(x, axis=-1),
    lambda x: floats(ops.argmax(x, axis=1)), lambda x: floats(ops.argmin(x, axis=-1)),
    lambda x: floats(ops.any(x > 1.0, axis=-1)), lambda x: floats(ops.all(x > -1.0, axis=[1, 2], keepdims=True)),
    lambda x: ops.moments(x, axes=[1])[0], lambda x: ops.moments(x, axes=[-1])[1],
    lambda x: ops.top_k(x, 2)[0], lambda x: x - ops.mean(x, axis=-1, keepdims=True),
]  # fmt: skip
SHAPES = [
    lambda x: ops.reshape(x, (-1, 3, 8)), lambda x: ops.reshape(x, (-1, 24)), lambda x: ops.transpose(x, (0, 2, 1)),
    lambda x: ops.expand_dims(x, 1), lambda x: ops.expand_dims(x, -1), lambda x: ops.squeeze(ops.expand_dims(x, 2), 2),
    lambda x: ops.squeeze(x[:, :1], axis=1), lambda x: ops.swapaxes(x, 1, 2), lambda x: ops.moveaxis(x, 2, 1),
    lambda x: ops.flip(x, axis=1), lambda x: ops.concatenate([x, x * 2], axis=-1),
    lambda x: ops.concatenate([x, x, x], axis=1), lambda x: ops.stack([x, -x], axis=1), lambda x: ops.stack([x, x], -1),
    lambda x: ops.split(x, 3, axis=-1)[1], lambda x: ops.split(x, [1, 3], axis=1)[1],
    lambda x: ops.add(*ops.split(x, 2, axis=1)), lambda x: ops.unstack(x, axis=1)[2],
    lambda x: ops.repeat(x, 2, axis=1), lambda x: ops.tile(x, (1, 2, 1)), lambda x: ops.tile(x, [2, 1]),
    lambda x: ops.pad(x, ((0, 0), (1, 2), (0, 1))), lambda x: ops.pad(x, [[0, 0], [1, 1], [2, 0]], mode="reflect"),
    lambda x: ops.pad(x, ((0, 0), (0, 0), (2, 1)), constant_values=0.5),
    lambda x: ops.pad(x, ((0, 0), (1, 0), (1, 1)), mode="symmetric"),
    lambda x: ops.take(x, [0, 2], axis=1), lambda x: ops.take(x, 1, axis=-1),
    lambda x: ops.broadcast_to(ops.mean(x, axis=0, keepdims=True)[:, :1], (1, 4, 6)) + x,
]  # fmt: skip
ITEMS = [
    lambda x: x[:, 0], lambda x: x[:, -1], lambda x: x[..., 0], lambda x: x[:, 1:3], lambda x: x[:, ::2],
    lambda x: x[:, ::-1], lambda x: x[:, -2:, 1:-1], lambda x: x[:, None], lambda x: x[..., None], lambda x: x[:, :, 2],
    lambda x: x[:, 1, 2:], lambda x: x[..., 1:4:2], lambda x: x[:, None, 2, ..., None], lambda x: x[:, :, :],
    lambda x: x[:, 3:0:-1], lambda x: x[::1, 0:2],
]  # fmt: skip


def products():
    a, b, c = keras.Input((4, 3)), keras.Input((3, 5)), keras.Input((4, 5))
    weights = np.linspace(-1, 1, 15, dtype="float32").reshape(3, 5)
    return keras.Model(
        [a, b, c],
        [
            ops.matmul(a, b), a @ weights, ops.dot(a, weights), ops.einsum("bij,bjk->bik", a, b),
            ops.einsum("bij,bik->bjk", a, c), ops.einsum("...ij->...ji", a), ops.einsum("bij,bkj->bk", a, a),
            ops.einsum("bij,jk->bki", a, weights), ops.matmul(a, ops.ones((3,))), ops.einsum("bij,bij->bi", a, a),
        ],
    )  # fmt: skip


def named_as_layers():
    """Operations whose class has the name of a layer's."""
    a, b = keras.Input((4, 3)), keras.Input((4, 3))
    return keras.Model(
        [a, b],
        [
            ops.average(a, axis=1), ops.average(a, axis=-1, weights=ops.exp(b)), ops.softmax(a, axis=1),
            ops.reshape(a, (-1, 12)),
            ops.concatenate([a, b], axis=1), ops.add(a, b), ops.subtract(a, b), ops.multiply(a, b), ops.maximum(a, b),
            ops.minimum(a, b), layers.Average()([a, b]), layers.Softmax(1)(a),
        ],
    )  # fmt: skip


def order():
    """Layers of one class whose order in the file depends on how deep operations make the graph."""
    x = keras.Input((6,))
    spread = ops.var(ops.reshape(x, (-1, 2, 3)), axis=-1, keepdims=True)[:, :, 0]
    deep = layers.Dense(6)(spread @ np.ones((2, 6), "float32"))
    flat = layers.Dense(6)(x)
    both = layers.Dense(6)(ops.std(ops.stack([deep, flat], axis=1), axis=1))
    return keras.Model(x, [both, layers.Dense(2)(ops.softmax(flat))])


def frozen_branch():
    """A call that says how to run: in Keras 3 what fit and predict say counts more."""
    x = keras.Input((4,))
    y = layers.BatchNormalization()(layers.Dense(5)(x), training=False)
    base = keras.Sequential([keras.Input((5,)), layers.Dense(4), layers.BatchNormalization()])
    return keras.Model(x, [base(y, training=False), layers.BatchNormalization()(y)])


MODELS = [
    ("op_arithmetic", arithmetic, [(4, 3), ("positive", (4, 3)), ("int", (4, 3), 4)]),
    ("op_comparisons", comparisons, [(4, 3), (4, 3), ("int", (4, 3), 4)]),
    ("op_functions", through(*FUNCTIONS), [(4, 6)]),
    ("op_activations", through(*ACTIVATIONS), [(4, 6)]),
    ("op_reductions", through(*REDUCTIONS), [(4, 6)]),
    ("op_shapes", through(*SHAPES), [(4, 6)]),
    ("op_items", through(*ITEMS), [(4, 6)]),
    ("op_products", products, [(4, 3), (3, 5), (4, 5)]),
    ("op_names_of_layers", named_as_layers, [(4, 3), (4, 3)]),
    ("op_order", order, [(6,)]),
    ("frozen_branch", frozen_branch, [(4,)]),
]
