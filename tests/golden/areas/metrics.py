"""Metrics over several updates, with and without weights, the result after each, and after a reset."""

import keras
import numpy as np

from .common import Random, header, tensor, write_json

BATCHES = [6, 4, 1]


def targets(rng, kind, rows):
    if kind == "labels":  # predicted labels against labels
        return rng.integers(rows, high=3).astype("float32"), rng.integers(rows, high=3).astype("float32")
    if kind == "binary":
        return rng.integers(rows, 1, high=2).astype("float32"), rng.uniform(rows, 1)
    if kind == "multilabel":
        return rng.integers(rows, 4, high=2).astype("float32"), rng.uniform(rows, 4)
    if kind == "one_hot":
        return rng.one_hot(rows, 4), rng.probabilities(rows, 4)
    if kind == "one_hot_logits":
        return rng.one_hot(rows, 4), rng.normal(rows, 4, scale=2.0)
    if kind == "sparse":
        return rng.integers(rows, high=4), rng.probabilities(rows, 4)
    if kind == "sparse_column":
        return rng.integers(rows, 1, high=4), rng.probabilities(rows, 4)
    if kind == "sparse_logits":
        return rng.integers(rows, high=4), rng.normal(rows, 4, scale=2.0)
    if kind == "sparse_image":
        return rng.integers(rows, 3, 2, high=4), rng.probabilities(rows * 6, 4).reshape(rows, 3, 2, 4)
    if kind == "many_classes":
        return rng.one_hot(rows, 9), rng.probabilities(rows, 9)
    if kind == "many_sparse":
        return rng.integers(rows, high=9), rng.probabilities(rows, 9)
    if kind == "regression_image":
        return rng.normal(rows, 3, 2), rng.normal(rows, 3, 2)
    return rng.normal(rows, 2), rng.normal(rows, 2)


CASES = [
    ("Accuracy", {}, "labels"),
    ("BinaryAccuracy", {}, "binary"),
    ("BinaryAccuracy", {"threshold": 0.3}, "multilabel"),
    ("CategoricalAccuracy", {}, "one_hot"),
    ("SparseCategoricalAccuracy", {}, "sparse"),
    ("SparseCategoricalAccuracy", {}, "sparse_column"),
    ("SparseCategoricalAccuracy", {}, "sparse_image"),
    ("TopKCategoricalAccuracy", {}, "many_classes"),
    ("TopKCategoricalAccuracy", {"k": 2}, "many_classes"),
    ("SparseTopKCategoricalAccuracy", {}, "many_sparse"),
    ("SparseTopKCategoricalAccuracy", {"k": 3}, "many_sparse"),
    ("MeanSquaredError", {}, "regression"),
    ("MeanSquaredError", {}, "regression_image"),
    ("MeanAbsoluteError", {}, "regression"),
    ("RootMeanSquaredError", {}, "regression"),
    ("BinaryCrossentropy", {}, "binary"),
    ("BinaryCrossentropy", {"label_smoothing": 0.1}, "multilabel"),
    ("BinaryCrossentropy", {"from_logits": True}, "regression_binary"),
    ("CategoricalCrossentropy", {}, "one_hot"),
    ("CategoricalCrossentropy", {"from_logits": True, "label_smoothing": 0.1}, "one_hot_logits"),
    ("SparseCategoricalCrossentropy", {}, "sparse"),
    ("SparseCategoricalCrossentropy", {"from_logits": True}, "sparse_logits"),
    ("Precision", {}, "binary"),
    ("Precision", {"thresholds": 0.3}, "multilabel"),
    ("Precision", {"thresholds": [0.2, 0.5, 0.8]}, "multilabel"),
    ("Precision", {"top_k": 2}, "many_classes"),
    ("Precision", {"class_id": 1}, "multilabel"),
    ("Precision", {"top_k": 2, "class_id": 3}, "many_classes"),
    ("Recall", {}, "binary"),
    ("Recall", {"thresholds": 0.3}, "multilabel"),
    ("Recall", {"thresholds": [0.2, 0.5, 0.8]}, "multilabel"),
    ("Recall", {"top_k": 2}, "many_classes"),
    ("Recall", {"class_id": 1}, "multilabel"),
    ("Recall", {"top_k": 2, "class_id": 3}, "many_classes"),
]


def run(metric, updates):
    results = []
    for *arguments, weight in updates:
        metric.update_state(*arguments, sample_weight=weight)
        results.append(tensor(np.asarray(metric.result(), "float32")))
    metric.reset_state()
    after_reset = tensor(np.asarray(metric.result(), "float32"))
    metric.update_state(*updates[-1][:-1], sample_weight=updates[-1][-1])
    return {
        "results": results,
        "after_reset": after_reset,
        "after_reset_and_last": tensor(np.asarray(metric.result(), "float32")),
    }


def target_case(seed, name, config, kind, weighted):
    rng = Random(seed, "metrics", name, str(config), kind, str(weighted))
    updates = []
    for rows in BATCHES:
        if kind == "regression_binary":
            y_true, y_pred = rng.integers(rows, 1, high=2).astype("float32"), rng.normal(rows, 1, scale=2.0)
        else:
            y_true, y_pred = targets(rng, kind, rows)
        weight = None
        if weighted:
            weight = (
                rng.uniform(*y_true.shape, low=0.1, high=2.0)
                if kind == "sparse_image"
                else rng.uniform(rows, low=0.1, high=2.0)
            )
            if kind in ("binary", "multilabel", "one_hot", "many_classes") and name in (
                "Precision",
                "Recall",
            ):
                weight = weight[:, None]
        updates.append((y_true, y_pred, weight))
    metric = getattr(keras.metrics, name)(**config)
    written = [
        {"y_true": tensor(t), "y_pred": tensor(p), "sample_weight": None if w is None else tensor(w)}
        for t, p, w in updates
    ]
    return {
        "name": name,
        "displayed": metric.name,
        "config": config,
        "kind": kind,
        "updates": written,
        **run(metric, updates),
    }


def value_case(seed, name, weighted):
    rng = Random(seed, "metrics", name, str(weighted))
    updates = [
        (rng.normal(*shape), rng.uniform(shape[0], low=0.1, high=2.0) if weighted else None)
        for shape in ((5,), (2, 3) if not weighted else (4,), (1,))
    ]
    metric = getattr(keras.metrics, name)()
    written = [{"values": tensor(v), "sample_weight": None if w is None else tensor(w)} for v, w in updates]
    return {"name": name, "displayed": metric.name, "updates": written, **run(metric, updates)}


def tie_cases():
    """First maximum for argmax accuracies; a tie at the k-th place is a hit for top-k."""
    y_pred = np.array([[0.3, 0.3, 0.2, 0.2], [0.1, 0.4, 0.4, 0.1], [0.25, 0.25, 0.25, 0.25]], "float32")
    for label in range(4):
        y_true = np.full((3,), label, "int32")
        for name, config in (
            ("SparseCategoricalAccuracy", {}),
            ("SparseTopKCategoricalAccuracy", {"k": 1}),
            ("SparseTopKCategoricalAccuracy", {"k": 2}),
        ):
            metric = getattr(keras.metrics, name)(**config)
            yield {
                "name": name,
                "config": config,
                "y_true": tensor(y_true),
                "y_pred": tensor(y_pred),
                "result": tensor(np.asarray(metric(y_true, y_pred), "float32")),
            }
    for prediction in (0.5, 0.50001, 0.49999):  # the threshold itself is not a positive
        for name in ("BinaryAccuracy", "Precision", "Recall"):
            metric = getattr(keras.metrics, name)()
            y_true, y_pred = np.ones((1, 1), "float32"), np.full((1, 1), prediction, "float32")
            yield {
                "name": name,
                "config": {},
                "y_true": tensor(y_true),
                "y_pred": tensor(y_pred),
                "result": tensor(np.asarray(metric(y_true, y_pred), "float32")),
            }


def resolved_accuracy():
    """What "accuracy" and the loss "crossentropy" in compile() become, by the shapes of y_true and y_pred."""
    from keras.src.trainers.compile_utils import get_loss, get_metric

    for true_shape, pred_shape in (
        ((4, 1), (4, 1)),
        ((4,), (4, 1)),
        ((4,), (4, 3)),
        ((4, 1), (4, 3)),
        ((4, 3), (4, 3)),
        ((4, 5), (4, 5, 3)),
        ((4, 5, 3), (4, 5, 3)),
        ((4, 5, 1), (4, 5, 1)),
    ):
        y_true = keras.ops.zeros(true_shape, "float32")
        y_pred = keras.ops.zeros(pred_shape, "float32")
        loss = get_loss("crossentropy", y_true, y_pred)
        yield {
            "y_true": list(true_shape),
            "y_pred": list(pred_shape),
            "accuracy": type(get_metric("accuracy", y_true, y_pred)).__name__,
            "crossentropy": loss.fn.__name__,
        }


def generate(seed, out):
    cases = [target_case(seed, *c, weighted) for c in CASES for weighted in (False, True)]
    values = [value_case(seed, name, weighted) for name in ("Mean", "Sum") for weighted in (False, True)]
    write_json(
        out / "metrics.json",
        {
            **header(seed),
            "cases": cases,
            "values": values,
            "ties": list(tie_cases()),
            "resolved": list(resolved_accuracy()),
        },
    )
