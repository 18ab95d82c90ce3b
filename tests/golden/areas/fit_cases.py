"""The trainings of fit.json: models, data and the arguments of compile and fit."""

from .models import dense, layer, sequential

CONV_BN = sequential(
    (8, 8, 3),
    layer("Conv2D", "conv1", filters=4, kernel_size=3, padding="same", use_bias=False),
    layer("BatchNormalization", "bn1"),
    layer("ReLU", "relu1"),
    layer("MaxPooling2D", "pool"),
    layer("Conv2D", "conv2", filters=6, kernel_size=3, strides=2, padding="same", use_bias=False),
    layer("BatchNormalization", "bn2", momentum=0.8),
    layer("Activation", "relu2", activation="relu"),
    layer("GlobalAveragePooling2D", "gap"),
    dense("out", 4),
)

LENET = sequential(
    (8, 8, 1),
    layer("Rescaling", "scale", scale=1 / 255.0),
    layer("Conv2D", "conv1", filters=3, kernel_size=3, activation="relu"),
    layer("AveragePooling2D", "pool1", pool_size=2),
    layer("Conv2D", "conv2", filters=4, kernel_size=2, activation="relu"),
    layer("AveragePooling2D", "pool2", pool_size=2),
    layer("Flatten", "flat"),
    dense("hidden", 7, "relu"),
    dense("out", 5),
)

TWO = {
    "kind": "functional",
    "inputs": [["a", [4]], ["b", [3]]],
    "outputs": ["y", "z"],
    "layers": [
        {**dense("left", 5, "relu"), "inbound": ["a"]},
        {**dense("right", 5, "tanh"), "inbound": ["b"]},
        {**layer("Concatenate", "both"), "inbound": ["left", "right"]},
        {**layer("Add", "sum"), "inbound": ["left", "right"]},
        {**dense("y", 3, "softmax"), "inbound": ["both"]},
        {**dense("z", 1), "inbound": ["sum"]},
    ],
}

RESIDUAL = {
    "kind": "functional",
    "inputs": [["x", [6, 6, 2]]],
    "outputs": ["out"],
    "layers": [
        {**layer("ZeroPadding2D", "pad", padding=1), "inbound": ["x"]},
        {**layer("Conv2D", "conv", filters=2, kernel_size=3, use_bias=False), "inbound": ["pad"]},
        {**layer("BatchNormalization", "bn"), "inbound": ["conv"]},
        {**layer("Add", "add"), "inbound": ["bn", "x"]},
        {**layer("ReLU", "relu"), "inbound": ["add"]},
        {**layer("GlobalMaxPooling2D", "top"), "inbound": ["relu"]},
        {**dense("out", 3), "inbound": ["top"]},
    ],
}

SHARED = {
    "kind": "functional",
    "inputs": [["p", [4]], ["q", [4]]],
    "outputs": ["out"],
    "layers": [
        {**dense("twin", 4, "tanh"), "inbound": ["p"], "output": "twin_p"},
        {**dense("twin", 4, "tanh"), "inbound": ["q"], "output": "twin_q", "shared": True},
        {
            "class": "Model",
            "name": "inner",
            "config": {},
            "inbound": ["twin_q"],
            "model": sequential((4,), dense("i1", 5, "relu"), dense("i2", 4)),
        },
        {**layer("Add", "add"), "inbound": ["twin_p", "inner"]},
        {**dense("out", 2, "sigmoid"), "inbound": ["add"]},
    ],
}

L2 = {"class": "L2", "config": {"l2": 0.05}}
SPARSE_LOGITS = {"class": "SparseCategoricalCrossentropy", "config": {"from_logits": True}}


def optimizer(name, **config):
    return {"class": name, "config": config}


def mlp(*, inputs=6, hidden=8, outputs=3, activation=None, **hidden_config):
    return sequential(
        (inputs,), dense("hidden", hidden, "relu", **hidden_config), dense("out", outputs, activation)
    )


def tabular(rng, rows, outputs, inputs=6, kind="labels"):
    x = rng.normal(rows, inputs)
    if kind == "labels":
        return x, rng.integers(rows, high=outputs)
    if kind == "one_hot":
        return x, rng.one_hot(rows, outputs)
    if kind == "binary":
        return x, rng.integers(rows, outputs, high=2).astype("float32")
    return x, rng.normal(rows, outputs)


def plain_cases(rng):
    """(name, model, compile arguments, x, y, fit arguments)"""
    adam = optimizer("Adam", learning_rate=0.02)
    labels = tabular(rng("labels"), 37, 3)
    yield (
        "mlp_adam_sample_weight",
        mlp(activation="softmax"),
        {
            "optimizer": adam,
            "loss": "sparse_categorical_crossentropy",
            "metrics": ["accuracy"],
            "weighted_metrics": ["accuracy"],
        },
        *labels,
        {
            "batch_size": 16,
            "epochs": 3,
            "sample_weight": rng("w").uniform(37, low=0.1, high=2.0),
            "validation_data": tabular(rng("validation"), 11, 3),
        },
    )
    images = rng("images")
    yield (
        "conv_bn_sgd_momentum",
        CONV_BN,
        {
            "optimizer": optimizer("SGD", learning_rate=0.05, momentum=0.9),
            "loss": SPARSE_LOGITS,
            "metrics": ["accuracy"],
        },
        images.normal(20, 8, 8, 3),
        images.integers(20, high=4),
        {
            "batch_size": 8,
            "epochs": 2,
            "validation_data": (images.normal(6, 8, 8, 3), images.integers(6, high=4)),
        },
    )
    gray = rng("gray")
    yield (
        "lenet_adam",
        LENET,
        {"optimizer": "adam", "loss": SPARSE_LOGITS, "metrics": ["accuracy"]},
        gray.uniform(30, 8, 8, 1, low=0, high=255),
        gray.integers(30, high=5),
        {"batch_size": 12, "epochs": 3},
    )
    yield (
        "l2_clipnorm",
        mlp(outputs=2, kernel_regularizer=L2, bias_regularizer={"class": "L1", "config": {"l1": 0.03}}),
        {
            "optimizer": optimizer("SGD", learning_rate=0.1, momentum=0.9, nesterov=True, clipnorm=0.3),
            "loss": "mse",
            "metrics": ["mae"],
        },
        *tabular(rng("l2"), 25, 2, kind="real"),
        {"batch_size": 8, "epochs": 3},
    )
    yield (
        "class_weight",
        mlp(),
        {
            "optimizer": adam,
            "loss": SPARSE_LOGITS,
            "metrics": ["accuracy"],
            "weighted_metrics": ["sparse_categorical_crossentropy"],
        },
        *tabular(rng("class"), 26, 3),
        {"batch_size": 8, "epochs": 2, "class_weight": {"0": 0.5, "2": 3.0}},
    )
    yield (
        "class_weight_one_hot",
        mlp(activation="softmax"),
        {"optimizer": adam, "loss": "categorical_crossentropy", "metrics": ["accuracy"]},
        *tabular(rng("class1"), 19, 3, kind="one_hot"),
        {"batch_size": 8, "epochs": 2, "class_weight": {"0": 2.0, "1": 0.25, "2": 1.0}},
    )
    decay = {
        "class": "ExponentialDecay",
        "config": {"initial_learning_rate": 0.05, "decay_steps": 3, "decay_rate": 0.5},
    }
    yield (
        "accumulation_schedule",
        mlp(outputs=2),
        {"optimizer": optimizer("Adam", learning_rate=decay, gradient_accumulation_steps=2), "loss": "mse"},
        *tabular(rng("accumulate"), 36, 2, kind="real"),
        {"batch_size": 8, "epochs": 3},
    )
    yield (
        "steps_per_execution",
        mlp(),
        {"optimizer": adam, "loss": SPARSE_LOGITS, "metrics": ["accuracy"], "steps_per_execution": 3},
        *labels,
        {"batch_size": 8, "epochs": 2, "validation_data": tabular(rng("validation"), 11, 3)},
    )


def option_cases(rng):
    cosine = {
        "class": "CosineDecay",
        "config": {"initial_learning_rate": 0.01, "decay_steps": 8, "warmup_target": 0.1, "warmup_steps": 3},
    }
    yield (
        "ema_cosine",
        mlp(outputs=2),
        {
            "optimizer": optimizer("SGD", learning_rate=cosine, use_ema=True, ema_momentum=0.8),
            "loss": "mae",
            "metrics": ["mse"],
        },
        *tabular(rng("ema"), 20, 2, kind="real"),
        {"batch_size": 6, "epochs": 3},
    )
    yield (
        "ema_overwrite",
        mlp(outputs=2),
        {
            "optimizer": optimizer(
                "Adam", learning_rate=0.05, use_ema=True, ema_momentum=0.7, ema_overwrite_frequency=3
            ),
            "loss": "mse",
        },
        *tabular(rng("ema"), 20, 2, kind="real"),
        {"batch_size": 6, "epochs": 2},
    )
    norm = {"class": "MaxNorm", "config": {"max_value": 0.8}}
    yield (
        "constraints_validation_split",
        mlp(
            outputs=1,
            activation="sigmoid",
            kernel_constraint=norm,
            bias_constraint={"class": "NonNeg", "config": {}},
        ),
        {
            "optimizer": optimizer("RMSprop", learning_rate=0.03, centered=True),
            "loss": "binary_crossentropy",
            "metrics": [
                "accuracy",
                {"class": "Precision", "config": {"name": "precision"}},
                {"class": "Recall", "config": {"name": "recall"}},
            ],
        },
        *tabular(rng("binary"), 41, 1, kind="binary"),
        {"batch_size": 8, "epochs": 4, "validation_split": 0.3, "validation_freq": 2},
    )
    yield (
        "rmsprop_default",
        mlp(outputs=2),
        {"loss": "mse"},
        *tabular(rng("rms"), 17, 2, kind="real"),
        {"epochs": 2},
    )
    frozen = mlp()
    frozen["layers"][0]["trainable"] = False
    yield (
        "frozen_weight_decay",
        frozen,
        {
            "optimizer": optimizer("Adam", learning_rate=0.05, weight_decay=0.1, global_clipnorm=0.5),
            "loss": SPARSE_LOGITS,
        },
        *tabular(rng("frozen"), 20, 3),
        {"batch_size": 8, "epochs": 2},
    )
    yield (
        "label_smoothing_clipvalue",
        mlp(),
        {
            "optimizer": optimizer("RMSprop", learning_rate=0.02, momentum=0.5, clipvalue=0.01),
            "loss": {
                "class": "CategoricalCrossentropy",
                "config": {"from_logits": True, "label_smoothing": 0.1},
            },
            "metrics": ["accuracy", "categorical_crossentropy"],
        },
        *tabular(rng("smooth"), 22, 3, kind="one_hot"),
        {"batch_size": 8, "epochs": 2, "initial_epoch": 1},
    )
    yield (
        "sum_reduction",
        mlp(outputs=2),
        {
            "optimizer": optimizer("SGD", learning_rate=0.003),
            "loss": {"class": "MeanSquaredError", "config": {"reduction": "sum"}},
        },
        *tabular(rng("sum"), 19, 2, kind="real"),
        {"batch_size": 8, "epochs": 2, "sample_weight": rng("sw").uniform(19)},
    )
    res = rng("residual")
    yield (
        "residual_zero_padding",
        RESIDUAL,
        {
            "optimizer": optimizer("SGD", learning_rate=0.05, momentum=0.9),
            "loss": SPARSE_LOGITS,
            "metrics": ["accuracy"],
        },
        res.normal(18, 6, 6, 2),
        res.integers(18, high=3),
        {"batch_size": 8, "epochs": 2},
    )


def several_outputs(rng):
    # Eagerly: in a graph the batch has no static size, and Keras then forgets to weigh each output's loss by it.
    two = rng("two")
    x = [two.normal(21, 4), two.normal(21, 3)]
    y = [two.integers(21, high=3), two.normal(21, 1)]
    fit = {"batch_size": 8, "epochs": 2}
    yield (
        "two_outputs_lists",
        TWO,
        {
            "optimizer": optimizer("Adam", learning_rate=0.02),
            "run_eagerly": True,
            "loss": ["sparse_categorical_crossentropy", "mse"],
            "loss_weights": [0.7, 0.3],
            "metrics": [["accuracy"], ["mae", "mse"]],
        },
        x,
        y,
        fit,
    )
    yield (
        "two_outputs_maps",
        TWO,
        {
            "optimizer": optimizer("Adam", learning_rate=0.02),
            "run_eagerly": True,
            "loss": {"y": "sparse_categorical_crossentropy", "z": "mae"},
            "loss_weights": {"y": 1.0, "z": 2.0},
            "metrics": {"z": ["mse"]},
        },
        x,
        y,
        {
            **fit,
            "validation_data": (
                [two.normal(5, 4), two.normal(5, 3)],
                [two.integers(5, high=3), two.normal(5, 1)],
            ),
        },
    )
    yield (
        "two_outputs_sample_weight",
        TWO,
        {
            "optimizer": "sgd",
            "run_eagerly": True,
            "loss": ["sparse_categorical_crossentropy", "mse"],
            "weighted_metrics": [["accuracy"], ["mae"]],
        },
        x,
        y,
        {**fit, "sample_weight": two.uniform(21, low=0.1, high=2.0)},
    )
    shared = rng("shared")
    yield (
        "shared_and_nested",
        SHARED,
        {
            "optimizer": optimizer("Adam", learning_rate=0.02),
            "loss": "bce",
            "metrics": ["accuracy", "binary_accuracy"],
        },
        [shared.normal(18, 4), shared.normal(18, 4)],
        shared.integers(18, 2, high=2).astype("float32"),
        {"batch_size": 7, "epochs": 2},
    )


def callback_cases(rng):
    sgd = optimizer("SGD", learning_rate=0.1)
    data = tabular(rng("callback"), 24, 2, kind="real")
    validation = tabular(rng("callback validation"), 9, 2, kind="real")
    compiled = {"optimizer": sgd, "loss": "mse"}
    yield (
        "learning_rate_scheduler",
        mlp(outputs=2),
        compiled,
        *data,
        {
            "batch_size": 8,
            "epochs": 3,
            "callbacks": [{"class": "LearningRateScheduler", "halves_each_epoch": True}],
        },
    )
    yield (
        "reduce_on_plateau",
        mlp(outputs=2),
        {"optimizer": optimizer("SGD", learning_rate=0.5), "loss": "mse"},
        *data,
        {
            "batch_size": 8,
            "epochs": 8,
            "validation_data": validation,
            "callbacks": [
                {
                    "class": "ReduceLROnPlateau",
                    "config": {
                        "factor": 0.3,
                        "patience": 1,
                        "min_delta": 0.05,
                        "cooldown": 1,
                        "min_lr": 0.01,
                    },
                }
            ],
        },
    )
    yield (
        "early_stopping_restores",
        mlp(outputs=2),
        {"optimizer": optimizer("SGD", learning_rate=0.4), "loss": "mse"},
        *data,
        {
            "batch_size": 8,
            "epochs": 10,
            "validation_data": validation,
            "callbacks": [
                {
                    "class": "EarlyStopping",
                    "config": {"monitor": "val_loss", "patience": 2, "restore_best_weights": True},
                }
            ],
        },
    )


GROUPS = (plain_cases, option_cases, several_outputs, callback_cases)
