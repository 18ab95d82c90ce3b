"""Prints features of an intermediate layer of a pretrained file, as the real Keras computes them.

python make_features.py ../shared/data/weights/derived_mobilenet_v2_0.35_128_imagenet_notop.h5
"""
import sys

import keras
import numpy as np

base = keras.applications.MobileNetV2(alpha=0.35, input_shape=(128, 128, 3), include_top=False, weights=sys.argv[1])
x = ((np.arange(2 * 128 * 128 * 3) * 7 % 11) / 11.0 - 0.4).astype("float32").reshape(2, 128, 128, 3)
for name in ["block_6_expand", "block_13_expand_relu", "out_relu"]:
    y = keras.Model(base.input, base.get_layer(name).output)(x).numpy()
    print(name, y.shape, repr(float(y.mean())), repr(float(np.abs(y).mean())), [round(float(v), 5) for v in y[1, 3, 2, :6]])
    if name == "block_6_expand":
        middle = y
rest = keras.Model(base.get_layer("block_6_expand").output, base.output)
print("rest", np.abs(rest(middle).numpy() - base(x).numpy()).max(), [l.name for l in rest.layers][:2])
