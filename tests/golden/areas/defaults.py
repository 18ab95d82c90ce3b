"""Constructor defaults of the classes that exist here, one row per parameter: object, kind, parameter, default."""

import inspect

import keras

from .common import write_bytes

CLASSES = {
    "activation": (
        keras.activations,
        [
            "elu",
            "exponential",
            "gelu",
            "hard_sigmoid",
            "hard_silu",
            "leaky_relu",
            "linear",
            "log_sigmoid",
            "log_softmax",
            "mish",
            "relu",
            "relu6",
            "selu",
            "sigmoid",
            "silu",
            "softmax",
            "softplus",
            "softsign",
            "tanh",
        ],
    ),
    "callback": (
        keras.callbacks,
        [
            "BackupAndRestore",
            "CSVLogger",
            "EarlyStopping",
            "History",
            "LambdaCallback",
            "LearningRateScheduler",
            "ModelCheckpoint",
            "ProgbarLogger",
            "ReduceLROnPlateau",
            "TerminateOnNaN",
        ],
    ),
    "constraint": (keras.constraints, ["MaxNorm", "MinMaxNorm", "NonNeg", "UnitNorm"]),
    "initializer": (
        keras.initializers,
        [
            "Constant",
            "GlorotNormal",
            "GlorotUniform",
            "HeNormal",
            "HeUniform",
            "LecunNormal",
            "LecunUniform",
            "Ones",
            "RandomNormal",
            "RandomUniform",
            "TruncatedNormal",
            "VarianceScaling",
            "Zeros",
        ],
    ),
    "layer": (
        keras.layers,
        [
            "Activation",
            "Add",
            "AveragePooling2D",
            "BatchNormalization",
            "Bidirectional",
            "Concatenate",
            "Conv2D",
            "ConvLSTM2D",
            "Dense",
            "Dropout",
            "Embedding",
            "Flatten",
            "GRU",
            "GRUCell",
            "GlobalAveragePooling2D",
            "GlobalMaxPooling2D",
            "LSTM",
            "LSTMCell",
            "Masking",
            "MaxPooling2D",
            "RNN",
            "ReLU",
            "Rescaling",
            "Reshape",
            "SimpleRNN",
            "SimpleRNNCell",
            "Softmax",
            "ZeroPadding2D",
        ],
    ),
    "layer function": (keras, ["Input"]),
    "loss": (
        keras.losses,
        [
            "BinaryCrossentropy",
            "BinaryFocalCrossentropy",
            "CTC",
            "CategoricalCrossentropy",
            "CategoricalFocalCrossentropy",
            "CategoricalGeneralizedCrossEntropy",
            "CategoricalHinge",
            "Circle",
            "CosineSimilarity",
            "Dice",
            "Hinge",
            "Huber",
            "KLDivergence",
            "LogCosh",
            "MeanAbsoluteError",
            "MeanAbsolutePercentageError",
            "MeanSquaredError",
            "MeanSquaredLogarithmicError",
            "Poisson",
            "SparseCategoricalCrossentropy",
            "SquaredHinge",
            "Tversky",
        ],
    ),
    "metric": (
        keras.metrics,
        [
            "AUC",
            "Accuracy",
            "BinaryAccuracy",
            "BinaryCrossentropy",
            "BinaryIoU",
            "CategoricalAccuracy",
            "CategoricalCrossentropy",
            "CategoricalHinge",
            "ConcordanceCorrelation",
            "CosineSimilarity",
            "F1Score",
            "FBetaScore",
            "FalseNegatives",
            "FalsePositives",
            "Hinge",
            "IoU",
            "KLDivergence",
            "LogCoshError",
            "Mean",
            "MeanAbsoluteError",
            "MeanAbsolutePercentageError",
            "MeanIoU",
            "MeanSquaredError",
            "MeanSquaredLogarithmicError",
            "OneHotIoU",
            "OneHotMeanIoU",
            "PearsonCorrelation",
            "Poisson",
            "Precision",
            "PrecisionAtRecall",
            "R2Score",
            "Recall",
            "RecallAtPrecision",
            "RootMeanSquaredError",
            "SensitivityAtSpecificity",
            "SparseCategoricalAccuracy",
            "SparseCategoricalCrossentropy",
            "SparseTopKCategoricalAccuracy",
            "SpecificityAtSensitivity",
            "SquaredHinge",
            "Sum",
            "TopKCategoricalAccuracy",
            "TrueNegatives",
            "TruePositives",
        ],
    ),
    "optimizer": (
        keras.optimizers,
        [
            "Adadelta",
            "Adafactor",
            "Adagrad",
            "Adam",
            "AdamW",
            "Adamax",
            "Ftrl",
            "Lamb",
            "Lion",
            "Muon",
            "Nadam",
            "RMSprop",
            "SGD",
            "ScheduleFreeAdamW",
        ],
    ),
    "regularizer": (keras.regularizers, ["L1", "L1L2", "L2"]),
    "schedule": (
        keras.optimizers.schedules,
        [
            "CosineDecay",
            "CosineDecayRestarts",
            "ExponentialDecay",
            "InverseTimeDecay",
            "PiecewiseConstantDecay",
            "PolynomialDecay",
        ],
    ),
}
METHODS = [
    "compile",
    "evaluate",
    "fit",
    "get_layer",
    "load_weights",
    "predict",
    "predict_on_batch",
    "save_weights",
    "summary",
    "test_on_batch",
    "train_on_batch",
]


def rows(name, kind, function):
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind == parameter.VAR_KEYWORD:
            yield name, kind, "**" + parameter.name, ""
        elif parameter.kind == parameter.VAR_POSITIONAL:
            yield name, kind, "*" + parameter.name, ""
        else:
            default = "(required)" if parameter.default is parameter.empty else repr(parameter.default)
            yield name, kind, parameter.name, default


def generate(seed, out):
    lines = [("object", "kind", "parameter", "default")]
    for kind, (module, names) in CLASSES.items():
        for name in names:
            lines += rows(name, kind, getattr(module, name))
    for name in METHODS:
        lines += rows(f"Model.{name}", "method", getattr(keras.Model, name))
    lines += rows("utils.to_categorical", "util", keras.utils.to_categorical)
    write_bytes(out / "defaults.tsv", "".join("\t".join(line) + "\n" for line in lines).encode())
