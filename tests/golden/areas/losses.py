"""Losses with every reduction, sample weights and the gradient with respect to y_pred."""

import keras
import numpy as np

from .common import Random, gradient, header, tensor, write_json

REDUCTIONS = ["sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none"]


def inputs(rng, name, config, shape):
    """(y_true, y_pred) that fit the loss; the last axis of shape holds the classes."""
    rows = int(np.prod(shape[:-1]))
    if name == "CTC":  # labels of two lengths, with a repetition, and logits
        labels = np.zeros((shape[0], 3), "int32")
        labels[:, 0] = labels[:, 1] = rng.integers(shape[0], low=1, high=shape[-1])
        labels[::2, 2] = rng.integers(len(labels[::2]), low=1, high=shape[-1])
        return labels, rng.normal(*shape)
    if name == "Circle":
        y_pred = rng.normal(*shape)
        return rng.integers(shape[0], high=3), y_pred / np.linalg.norm(y_pred, axis=-1, keepdims=True)
    if name in ("Hinge", "SquaredHinge"):
        return rng.integers(*shape, high=2).astype("float32"), rng.normal(*shape)
    if name in ("MeanSquaredLogarithmicError", "Poisson"):
        return rng.uniform(*shape, high=3.0), rng.uniform(*shape, low=0.1, high=3.0)
    if name == "KLDivergence":
        return tuple(rng.probabilities(rows, shape[-1]).reshape(shape) for _ in range(2))
    if name in ("Dice", "Tversky"):
        return rng.integers(*shape, high=2).astype("float32"), rng.uniform(*shape)
    if name in ("SparseCategoricalCrossentropy", "CategoricalGeneralizedCrossEntropy"):
        y_true = rng.integers(*shape[:-1], high=shape[-1])
    elif name in ("CategoricalCrossentropy", "CategoricalFocalCrossentropy", "CategoricalHinge"):
        y_true = rng.one_hot(rows, shape[-1]).reshape(shape)
    elif name in ("BinaryCrossentropy", "BinaryFocalCrossentropy"):
        y_true = rng.integers(*shape, high=2).astype("float32")
    else:
        return rng.normal(*shape), rng.normal(*shape)
    if config.get("from_logits"):
        return y_true, rng.normal(*shape, scale=2.0)
    if name in ("BinaryCrossentropy", "BinaryFocalCrossentropy"):
        return y_true, rng.uniform(*shape, low=0.02, high=0.98)
    return y_true, rng.probabilities(int(np.prod(shape[:-1])), shape[-1]).reshape(shape)


def variants():
    """(class, constructor arguments, shape of y_pred)"""
    for from_logits in (False, True):
        logits = {"from_logits": True} if from_logits else {}
        yield "SparseCategoricalCrossentropy", logits, (6, 4)
        yield "SparseCategoricalCrossentropy", logits, (2, 3, 2, 4)
        yield "SparseCategoricalCrossentropy", {**logits, "ignore_class": 2}, (7, 4)
        yield "SparseCategoricalCrossentropy", {**logits, "ignore_class": -1}, (2, 3, 2, 4)
        yield "CategoricalCrossentropy", logits, (6, 4)
        yield "CategoricalCrossentropy", {**logits, "label_smoothing": 0.1}, (6, 4)
        yield "CategoricalCrossentropy", logits, (2, 3, 4)
        yield "BinaryCrossentropy", logits, (6, 1)
        yield "BinaryCrossentropy", {**logits, "label_smoothing": 0.2}, (5, 3)
        yield "BinaryCrossentropy", logits, (2, 3, 4)
    for name in (
        "MeanSquaredError",
        "MeanAbsoluteError",
        "MeanAbsolutePercentageError",
        "MeanSquaredLogarithmicError",
        "Hinge",
        "SquaredHinge",
        "Huber",
        "LogCosh",
        "Poisson",
    ):
        for shape in ((6, 1), (5, 3), (2, 3, 4)):
            yield name, {}, shape
    for name in ("CategoricalHinge", "KLDivergence", "CosineSimilarity"):
        for shape in ((5, 3), (2, 3, 4)):
            yield name, {}, shape
    yield "Huber", {"delta": 0.4}, (5, 3)
    yield "CategoricalGeneralizedCrossEntropy", {}, (6, 4)
    yield "CategoricalGeneralizedCrossEntropy", {"q": 0.2}, (6, 4)
    for from_logits in (False, True):
        logits = {"from_logits": True} if from_logits else {}
        yield "BinaryFocalCrossentropy", logits, (6, 1)
        yield "BinaryFocalCrossentropy", {**logits, "apply_class_balancing": True, "alpha": 0.4}, (5, 3)
        yield "BinaryFocalCrossentropy", {**logits, "gamma": 1.5, "label_smoothing": 0.2}, (2, 3, 4)
        yield "CategoricalFocalCrossentropy", logits, (6, 4)
        yield "CategoricalFocalCrossentropy", {**logits, "gamma": 1.5, "label_smoothing": 0.1}, (2, 3, 4)
        yield "CategoricalFocalCrossentropy", {**logits, "alpha": [0.1, 0.2, 0.3, 0.9]}, (2, 3, 4)


def whole_batch_variants():
    """Losses whose result has other axes than the samples, or mixes them: without weights."""
    yield "Dice", {}, (5, 3)
    yield "Dice", {"axis": [1, 2]}, (4, 3, 2)
    yield "Tversky", {}, (5, 3)
    yield "Tversky", {"alpha": 0.3, "beta": 0.8}, (5, 3)
    yield "Tversky", {"alpha": 0.3, "beta": 0.8, "axis": [1, 2]}, (4, 3, 2)
    yield "CTC", {}, (3, 6, 4)
    yield "Circle", {}, (9, 4)
    yield "Circle", {"gamma": 8.0, "margin": 0.2, "remove_diagonal": False}, (9, 4)
    yield "CosineSimilarity", {"axis": 1}, (2, 3, 4)
    yield "BinaryFocalCrossentropy", {"axis": 1}, (2, 3, 4)


def weights_for(rng, shape):
    """No weights, one per sample, one per sample with a trailing axis, one per element of the loss."""
    yield "none", None
    yield "per_sample", rng.uniform(shape[0], low=0.1, high=2.0)
    yield "per_sample_column", rng.uniform(shape[0], 1, low=0.1, high=2.0)
    with_zeros = rng.uniform(shape[0], low=0.1, high=2.0)
    with_zeros[::2] = 0.0
    yield "with_zeros", with_zeros
    if len(shape) > 2:
        yield "per_element", rng.uniform(*shape[:-1], low=0.1, high=2.0)


def usable(kind, shape):
    """Weights must broadcast to the loss of rank len(shape) - 1, aligned at the right."""
    return (
        len(shape) == 2
        or kind in ("none", "per_element")
        or (kind == "per_sample_column" and len(shape) == 3)
    )


def run(loss, y_true, y_pred, weights, upstream):
    value, (slope,) = gradient(lambda p: loss(y_true, p, sample_weight=weights), [y_pred], upstream)
    return {"value": tensor(value), "gradient": tensor(slope)}


def case(seed, name, config, shape):
    rng = Random(seed, "losses", name, str(config), str(shape))
    y_true, y_pred = inputs(rng, name, config, shape)
    if config.get("ignore_class") == -1:
        y_true.reshape(-1)[::4] = -1
    weights = [(k, w) for k, w in weights_for(rng, shape) if usable(k, shape)]
    upstream = rng.normal(*shape[:-1])
    results = []
    for reduction in REDUCTIONS:
        loss = getattr(keras.losses, name)(**config, reduction=reduction)
        for index, (kind, weight) in enumerate(weights):
            if reduction == "none" and kind == "per_sample_column" and len(shape) == 2:
                continue  # the result would have the weights' extra axis
            result = run(loss, y_true, y_pred, weight, upstream if reduction == "none" else None)
            results.append({"reduction": reduction, "weights": index if weight is not None else -1, **result})
    return {
        "name": name,
        "config": config,
        "y_true": tensor(y_true),
        "y_pred": tensor(y_pred),
        "sample_weights": [{"kind": k, **tensor(w)} if w is not None else None for k, w in weights],
        "upstream_of_none": tensor(upstream),
        "results": results,
    }


def whole_batch_case(seed, name, config, shape):
    rng = Random(seed, "losses/whole", name, str(config), str(shape))
    y_true, y_pred = inputs(rng, name, config, shape)
    loss = getattr(keras.losses, name)(**config)
    return {
        "name": name,
        "config": config,
        "y_true": tensor(y_true),
        "y_pred": tensor(y_pred),
        **run(loss, y_true, y_pred, None, None),
    }


def squeezed_case(seed, name, config, true_shape, pred_shape, integer):
    """Ranks that differ by a trailing 1, which Keras squeezes."""
    rng = Random(seed, "losses/squeezed", name, str(config), str(true_shape))
    y_true = rng.integers(*true_shape, high=integer) if integer else rng.uniform(*true_shape)
    y_pred = (
        rng.normal(*pred_shape)
        if config.get("from_logits") or not integer
        else rng.uniform(*pred_shape, low=0.1, high=0.9)
    )
    loss = getattr(keras.losses, name)(**config)
    return {
        "name": name,
        "config": config,
        "y_true": tensor(y_true),
        "y_pred": tensor(y_pred),
        **run(loss, y_true, y_pred, None, None),
    }


def saturated_case(name, config, y_true, y_pred):
    """Probabilities of exactly 0 and 1, clipped by Keras at 1e-7; extreme logits."""
    y_true = np.asarray(y_true, "int32" if name.startswith("Sparse") else "float32")
    y_pred = np.asarray(y_pred, "float32")
    loss = getattr(keras.losses, name)(**config, reduction="none")
    return {
        "name": name,
        "config": config,
        "y_true": tensor(y_true),
        "y_pred": tensor(y_pred),
        "value": tensor(np.asarray(loss(y_true, y_pred))),
    }


def generate(seed, out):
    squeezed = [
        squeezed_case(seed, "MeanSquaredError", {}, (5,), (5, 1), 0),
        squeezed_case(seed, "MeanSquaredError", {}, (5, 1), (5,), 0),
        squeezed_case(seed, "MeanAbsoluteError", {}, (5,), (5, 1), 0),
        squeezed_case(seed, "BinaryCrossentropy", {}, (5,), (5, 1), 2),
        squeezed_case(seed, "BinaryCrossentropy", {"from_logits": True}, (5,), (5, 1), 2),
        squeezed_case(seed, "SparseCategoricalCrossentropy", {"from_logits": True}, (5, 1), (5, 3), 3),
    ]
    saturated = [
        saturated_case("SparseCategoricalCrossentropy", {}, [0, 1, 0], [[0, 1], [0, 1], [1e-9, 1]]),
        saturated_case(
            "SparseCategoricalCrossentropy",
            {"from_logits": True},
            [0, 1, 0],
            [[0, 1e4], [0, 1e4], [-200, 200]],
        ),
        saturated_case("CategoricalCrossentropy", {}, [[1, 0], [0, 1]], [[0, 1], [0, 1]]),
        saturated_case("CategoricalCrossentropy", {}, [[1, 0, 0], [0, 1, 0]], [[2, 1, 1], [3, 3, 2]]),
        saturated_case("BinaryCrossentropy", {}, [[1], [0], [1], [0]], [[0], [1], [1], [0]]),
        saturated_case(
            "BinaryCrossentropy", {"from_logits": True}, [[1], [0], [1], [0]], [[-500], [500], [500], [-500]]
        ),
    ]
    names = [
        "mse",
        "MSE",
        "mean_squared_error",
        "mae",
        "MAE",
        "mean_absolute_error",
        "bce",
        "BCE",
        "binary_crossentropy",
        "categorical_crossentropy",
        "sparse_categorical_crossentropy",
        "MeanSquaredError",
        "mape",
        "MAPE",
        "msle",
        "MSLE",
        "kld",
        "KLD",
        "kl_divergence",
        "hinge",
        "squared_hinge",
        "categorical_hinge",
        "huber",
        "log_cosh",
        "LogCosh",
        "poisson",
        "cosine_similarity",
        "binary_focal_crossentropy",
        "categorical_focal_crossentropy",
        "dice",
        "tversky",
        "circle",
        "ctc",
    ]
    aliases = [
        {"name": n, "function": getattr(f, "__name__", type(f).__name__)}
        for n in names
        for f in [keras.losses.get(n)]
    ]
    write_json(
        out / "losses.json",
        {
            **header(seed),
            "cases": [case(seed, *v) for v in variants()],
            "whole_batch": [whole_batch_case(seed, *v) for v in whole_batch_variants()],
            "squeezed": squeezed,
            "saturated": saturated,
            "names": aliases,
        },
    )
