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
    if kind == "labels_image":  # class numbers from -1 (of no class) to 3
        return rng.integers(rows, 3, 2, low=-1, high=4), rng.integers(rows, 3, 2, high=4)
    if kind == "one_hot_image":
        return rng.one_hot(rows * 6, 4).reshape(rows, 3, 2, 4), rng.probabilities(rows * 6, 4).reshape(
            rows, 3, 2, 4
        )
    if kind == "positive":
        return rng.uniform(rows, 3, high=3.0), rng.uniform(rows, 3, low=0.1, high=3.0)
    if kind == "distributions":
        return rng.probabilities(rows, 4), rng.probabilities(rows, 4)
    if kind == "wide":
        return rng.normal(rows, 6), rng.normal(rows, 6)
    if kind == "multilabel_logits":
        return rng.integers(rows, 4, high=2).astype("float32"), rng.normal(rows, 4, scale=2.0)
    if kind == "round":  # scores that are thresholds themselves
        return rng.integers(rows, 1, high=2).astype("float32"), rng.integers(rows, 1, high=5) / np.float32(4)
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
    ("Precision", {"thresholds": [0.0, 0.25, 0.5, 0.75, 1.0]}, "round"),
    ("SparseTopKCategoricalAccuracy", {"k": 2, "from_sorted_ids": True}, "ids"),
    ("TruePositives", {}, "multilabel"),
    ("TrueNegatives", {"thresholds": [0.2, 0.7]}, "multilabel"),
    ("FalsePositives", {"thresholds": 0.4}, "multilabel"),
    ("FalseNegatives", {}, "binary"),
    ("AUC", {}, "binary"),
    ("AUC", {}, "round"),
    ("AUC", {"num_thresholds": 5}, "round"),
    ("AUC", {"curve": "PR"}, "multilabel"),
    ("AUC", {"curve": "PRGAIN"}, "multilabel"),
    ("AUC", {"summation_method": "minoring"}, "multilabel"),
    ("AUC", {"summation_method": "majoring", "num_thresholds": 20}, "multilabel"),
    ("AUC", {"curve": "PR", "summation_method": "minoring"}, "binary"),
    ("AUC", {"curve": "PR", "summation_method": "majoring"}, "binary"),
    ("AUC", {"thresholds": [0.7, 0.2, 0.5]}, "multilabel"),
    ("AUC", {"thresholds": [0.25, 0.5, 0.75]}, "round"),
    ("AUC", {"from_logits": True}, "multilabel_logits"),
    ("AUC", {"multi_label": True, "num_labels": 4}, "multilabel"),
    ("AUC", {"multi_label": True, "curve": "PR"}, "multilabel"),
    ("AUC", {"multi_label": True, "label_weights": [0.1, 0.5, 0.2, 0.9]}, "multilabel"),
    ("AUC", {"label_weights": [0.1, 0.5, 0.2, 0.9]}, "multilabel"),
    ("SensitivityAtSpecificity", {"specificity": 0.5}, "multilabel"),
    ("SensitivityAtSpecificity", {"specificity": 0.3, "num_thresholds": 1}, "binary"),
    ("SensitivityAtSpecificity", {"specificity": 0.4, "class_id": 2}, "multilabel"),
    ("SpecificityAtSensitivity", {"sensitivity": 0.6}, "multilabel"),
    ("SpecificityAtSensitivity", {"sensitivity": 0.4, "num_thresholds": 5}, "round"),
    ("PrecisionAtRecall", {"recall": 0.7}, "multilabel"),
    ("RecallAtPrecision", {"precision": 0.6}, "multilabel"),
    ("FBetaScore", {"beta": 2.0}, "one_hot"),
    ("FBetaScore", {"beta": 0.5, "average": "micro", "threshold": 0.5}, "multilabel"),
    ("F1Score", {}, "one_hot"),
    ("F1Score", {"average": "micro"}, "one_hot"),
    ("F1Score", {"average": "macro", "threshold": 0.3}, "multilabel"),
    ("F1Score", {"average": "weighted"}, "one_hot"),
    ("R2Score", {}, "wide"),
    ("R2Score", {"class_aggregation": None}, "wide"),
    ("R2Score", {"class_aggregation": "variance_weighted_average", "num_regressors": 2}, "wide"),
    ("IoU", {"num_classes": 4, "target_class_ids": [0, 2]}, "labels_image"),
    ("IoU", {"num_classes": 3, "target_class_ids": [1], "ignore_class": 0}, "labels_image"),
    ("MeanIoU", {"num_classes": 4}, "labels_image"),
    ("MeanIoU", {"num_classes": 4, "sparse_y_true": False, "sparse_y_pred": False}, "one_hot_image"),
    ("BinaryIoU", {}, "multilabel"),
    ("BinaryIoU", {"target_class_ids": [1], "threshold": 0.3}, "multilabel"),
    ("OneHotIoU", {"num_classes": 4, "target_class_ids": [1, 3]}, "one_hot_image"),
    ("OneHotMeanIoU", {"num_classes": 4}, "one_hot"),
    ("CosineSimilarity", {}, "wide"),
    ("Hinge", {}, "multilabel_logits"),
    ("SquaredHinge", {}, "multilabel_logits"),
    ("CategoricalHinge", {}, "one_hot_logits"),
    ("KLDivergence", {}, "distributions"),
    ("Poisson", {}, "positive"),
    ("LogCoshError", {}, "regression"),
    ("MeanAbsolutePercentageError", {}, "positive"),
    ("MeanSquaredLogarithmicError", {}, "positive"),
    ("PearsonCorrelation", {}, "wide"),
    ("ConcordanceCorrelation", {}, "wide"),
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
    # A row alone has no variance: what R2 divides by is rounding.
    for rows in [6, 1, 4] if name == "R2Score" else BATCHES:
        if kind == "ids":
            y_true = rng.integers(rows, high=6)
            y_pred = np.argsort(rng.uniform(rows, 6), axis=-1).astype("float32")
        elif kind == "regression_binary":
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
            if "IoU" in name:  # Keras wants a weight per pair and cuts off fractions
                shape = y_true.shape[:-1] if kind.startswith("one_hot") else y_true.shape
                weight = rng.uniform(*shape, low=0.0, high=4.0)
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


def keras_names():
    """The strings that stand for a metric that can be made without arguments."""
    from keras.src.metrics import ALL_OBJECTS_DICT

    for name, metric in ALL_OBJECTS_DICT.items():
        if metric.__name__ in ("Metric", "MeanMetricWrapper"):
            continue
        try:
            metric()
        except TypeError:
            continue
        yield name


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
            "names": [
                {"name": n, "class": type(keras.metrics.get(n)).__name__}
                for n in sorted(keras_names())
            ],
        },
    )
