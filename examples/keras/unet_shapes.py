"""A U-Net that finds discs and squares: examples/unet_shapes.cpp in Keras."""
import sys

import keras
import numpy as np
from keras import layers, ops

SIZE, CLASSES = 32, 3


def make_pictures(count, seed):
    random = np.random.default_rng(seed)
    row, column = np.mgrid[:SIZE, :SIZE]
    y = np.zeros((count, SIZE, SIZE), "int32")
    for label in y:
        (a, b), (c, d), radius = random.integers(8, 24, 2), random.integers(8, 24, 2), random.integers(4, 8)
        label[(row - a) ** 2 + (column - b) ** 2 < radius ** 2] = 1
        label[np.maximum(abs(row - c), abs(column - d)) < radius] = 2
    return ((y > 0) + random.normal(0, 0.3, y.shape)).astype("float32")[..., None], y


@keras.saving.register_keras_serializable("shapes")
def crossentropy_and_dice(y_true, y_pred):
    wanted = ops.reshape(ops.one_hot(ops.cast(y_true, "int32"), CLASSES), ops.shape(y_pred))
    both, every = (ops.sum(x, axis=(0, 1, 2)) for x in (wanted * y_pred, wanted + y_pred))
    crossentropy = keras.losses.sparse_categorical_crossentropy(y_true, y_pred)
    return ops.mean(crossentropy) + 1 - ops.mean(2 * both / (every + 1e-7))


def two_convolutions(x, filters):
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu", kernel_initializer="he_normal")(x)
    return layers.BatchNormalization()(x)


def make_unet():
    x = image = keras.Input((SIZE, SIZE, 1))
    skips = []
    for filters in [8, 16]:
        skips.append(two_convolutions(x, filters))
        x = layers.MaxPooling2D(2)(skips[-1])
    x = two_convolutions(x, 32)
    for filters in [16, 8]:
        x = layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
        x = two_convolutions(layers.concatenate([x, skips.pop()]), filters)
    return keras.Model(image, layers.Conv2D(CLASSES, 1, activation="softmax")(x), name="unet")


keras.utils.set_random_seed(1)
count, epochs = [int(argument) for argument in sys.argv[1:3]] or (800, 4)
train, test = make_pictures(count, 1), make_pictures(100, 2)
unet = make_unet()
unet.compile(optimizer=keras.optimizers.Adam(3e-3), loss=crossentropy_and_dice,
             metrics=["accuracy", keras.metrics.MeanIoU(num_classes=CLASSES, sparse_y_pred=False, name="iou")])
unet.fit(*train, batch_size=32, epochs=epochs, verbose=2, validation_data=test)
unet.save("unet.keras")
logs = keras.models.load_model("unet.keras").evaluate(*test, verbose=0, return_dict=True)
print(f"from the file: accuracy {logs['accuracy']:.4f}, mean IoU {logs['iou']:.4f}")
