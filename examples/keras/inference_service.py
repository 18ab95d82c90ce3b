"""A model in a service, asked by several threads: examples/inference_service.cpp in Keras."""
import sys
import threading
import time

import keras
import numpy as np
from keras import layers


def make_file():
    keras.Sequential([keras.Input((28, 28, 1)), layers.Conv2D(16, 3, activation="relu"), layers.MaxPooling2D(2),
                      layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(2), layers.Flatten(),
                      layers.Dense(10, activation="softmax")]).save("service.keras")
    return "service.keras"


keras.utils.set_random_seed(1)
requests, threads = [int(argument) for argument in sys.argv[1:3]] or (200, 4)
model = keras.models.load_model(make_file(), compile=False)
request = np.random.uniform(size=(1,) + model.input_shape[1:]).astype("float32")
expected = model.predict_on_batch(request)
times, wrong = [], []


def client():
    for _ in range(requests):
        start = time.perf_counter()
        if (model.predict_on_batch(request) != expected).any():
            wrong.append(1)
        times.append((time.perf_counter() - start) * 1000)


begin = time.perf_counter()
clients = [threading.Thread(target=client) for _ in range(threads)]
for thread in clients:
    thread.start()
for thread in clients:
    thread.join()
seconds = time.perf_counter() - begin
print(f"{len(times)} requests in {seconds:.2f} s ({len(times) / seconds:.0f} per second), ms: median "
      f"{np.percentile(times, 50):.2f}, 95 % {np.percentile(times, 95):.2f}, 99 % {np.percentile(times, 99):.2f}, max {max(times):.2f}")
print(len(wrong), "wrong answers")
