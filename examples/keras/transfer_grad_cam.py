"""Transfer learning with Grad-CAM: examples/transfer_grad_cam.cpp in Keras. Arguments: data folder, rows, epochs."""
import gzip
import pathlib
import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SIZE = 128
CLASSES = "airplane automobile bird cat deer dog frog horse ship truck".split()


def make_model(weights):
    base = keras.applications.MobileNetV2(input_shape=(SIZE, SIZE, 3), alpha=0.35, include_top=False,
                                          weights=weights, name="base")
    base.trainable = False
    image = keras.Input((SIZE, SIZE, 3))
    maps = base(layers.Rescaling(1 / 127.5, offset=-1.0)(image))
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling2D(name="pool")(maps))
    return keras.Model(image, layers.Dense(10, activation="softmax")(x))


def grad_cam(model, image, label):
    cut = keras.Model(model.input, [model.get_layer("pool").input, model.output])
    with tf.GradientTape() as tape:
        image = tf.convert_to_tensor(image)
        tape.watch(image)
        maps, scores = cut(image)
        score = scores[0, label]
    gradient = tape.gradient(score, maps)
    return tf.nn.relu(tf.reduce_sum(maps * tf.reduce_mean(gradient, axis=(0, 1, 2)), axis=-1)).numpy()


keras.utils.set_random_seed(1)
data = pathlib.Path(sys.argv[1])
rows, epochs = int(sys.argv[2]), int(sys.argv[3])
records = np.frombuffer(gzip.open(data / "cifar10/lossless_train_4053.bin.gz").read(), np.uint8).reshape(-1, 3073)
y, x = records[:, 0], records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
images = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda x, y: (tf.image.resize(x, (SIZE, SIZE)), y))

model = make_model(str(data / "weights/derived_mobilenet_v2_0.35_128_imagenet_notop.h5"))
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(images.take(rows).batch(64), epochs=epochs, verbose=2,
          validation_data=images.skip(rows).take(rows // 4).batch(64))
model.save("transfer.keras")

loaded = keras.models.load_model("transfer.keras")
photo = keras.utils.load_img(data / "imagenet/photos/cat_720p.jpg", target_size=(SIZE, SIZE))
photo = keras.utils.img_to_array(photo)[None]
label = loaded.predict(photo, verbose=0).argmax()
heat = grad_cam(loaded, photo, label)
print(f"{CLASSES[label]}, because of:")
print((100 * heat[0] / heat.max()).round().astype(int))
