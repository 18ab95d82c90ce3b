#!/usr/bin/env python3
"""examples/data_parallel_from_scratch.cpp in PyTorch: the same LeNet in plain tensors, the same initial weights, rows
and steps.

PyTorch has one CPU device, so the "devices" are copies of the weights that threads work on, one torch thread each.

python data_parallel_from_scratch.py --data /usr/share/datasets/fashion-mnist
"""

import argparse
import concurrent.futures
import gzip
import math
import os
import struct
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy  # noqa: E402
import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

torch.set_num_threads(1)


def read_idx(path):
    opener = gzip.open if os.path.exists(path + ".gz") else open
    with opener(path + ".gz" if opener is gzip.open else path, "rb") as file:
        rank = struct.unpack(">HBB", file.read(4))[2]
        shape = struct.unpack(">" + "I" * rank, file.read(4 * rank))
        return torch.from_numpy(numpy.frombuffer(file.read(), numpy.uint8).reshape(shape).copy())


def load(folder, part):
    images = read_idx(os.path.join(folder, part + "-images-idx3-ubyte"))
    labels = read_idx(os.path.join(folder, part + "-labels-idx1-ubyte"))
    return images.unsqueeze(1), labels.long()


def philox(count, key):
    """Four random words for each of the counters 0 ... count - 1 (Philox4x32-10), as Nyala draws them."""
    words = [numpy.arange(count, dtype=numpy.uint64)] + [numpy.zeros(count, numpy.uint64) for _ in range(3)]
    keys = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        a, b = words[0] * numpy.uint64(0xD2511F53), words[2] * numpy.uint64(0xCD9E8D57)
        low, half = numpy.uint64(0xFFFFFFFF), numpy.uint64(32)
        words = [b >> half ^ words[1] ^ numpy.uint64(keys[0]), b & low, a >> half ^ words[3] ^ numpy.uint64(keys[1]), a & low]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return words


def uniform_pairs(count, key):
    words = philox((count + 1) // 2, key)
    return [((words[i] << numpy.uint64(32) | words[i + 1]) >> numpy.uint64(11)) * 2.0**-53 for i in (0, 2)]


def uniform(count, key):
    return numpy.stack(uniform_pairs(count, key), 1).reshape(-1)[:count]


def normal(shape, key):
    """Numbers of standard deviation 0.01 (Box-Muller), as Nyala draws them."""
    count = math.prod(shape)
    first, second = uniform_pairs(count, key)
    radius, angle = numpy.sqrt(-2.0 * numpy.log(1.0 - first)), 2.0 * math.pi * second
    values = numpy.stack([radius * numpy.cos(angle), radius * numpy.sin(angle)], 1).reshape(-1)[:count]
    return torch.from_numpy((0.01 * values).astype(numpy.float32).reshape(shape))


def initial_params(seed, dtype):
    """The weights that Nyala begins with, in PyTorch's layouts."""
    conv1, conv2 = (normal(shape, 8 * seed + i) for i, shape in enumerate([(3, 3, 1, 20), (5, 5, 20, 50)]))
    dense1 = normal((800, 128), 8 * seed + 2).reshape(4, 4, 50, 128).permute(2, 0, 1, 3).reshape(800, 128)
    params = [conv1.permute(3, 2, 0, 1).contiguous(), torch.zeros(20), conv2.permute(3, 2, 0, 1).contiguous(),
              torch.zeros(50), dense1, torch.zeros(128), normal((128, 10), 8 * seed + 3), torch.zeros(10)]  # fmt: skip
    return [param.to(dtype) for param in params]


def lenet(images, params):
    x = images.to(params[0].dtype) / 255.0
    x = functional.avg_pool2d(functional.relu(functional.conv2d(x, params[0], params[1])), 2)
    x = functional.avg_pool2d(functional.relu(functional.conv2d(x, params[2], params[3])), 2)
    x = functional.relu(x.flatten(1) @ params[4] + params[5])
    return x @ params[6] + params[7]


def get_params(params):
    return [param.clone().requires_grad_() for param in params]


def allreduce(tensors):
    for other in tensors[1:]:
        tensors[0] += other
    for other in tensors[1:]:
        other.copy_(tensors[0])


def split_and_load(batch, devices):
    return torch.tensor_split(batch, devices)


def backward(images, labels, params):
    functional.cross_entropy(lenet(images, params), labels, reduction="sum").backward()


def train_batch(x, y, device_params, pool, rate):
    devices = len(device_params)
    parts = zip(split_and_load(x, devices), split_and_load(y, devices), device_params)
    for done in [pool.submit(backward, *part) for part in parts]:
        done.result()
    with torch.no_grad():
        for of_devices in zip(*device_params):
            allreduce([param.grad for param in of_devices])
            for param in of_devices:
                param -= rate / len(x) * param.grad
                param.grad.zero_()


def accuracy(images, labels, params):
    with torch.no_grad():
        right = sum(
            (lenet(images[i : i + 500], params).argmax(1) == labels[i : i + 500]).sum().item()
            for i in range(0, len(images), 500)
        )
    return right / len(images)


def train(devices, data, options):
    (x, y), test = data
    params = [get_params(initial_params(options.seed, getattr(torch, options.dtype))) for _ in range(devices)]
    with concurrent.futures.ThreadPoolExecutor(devices) as pool:
        for epoch in range(options.epochs):
            order = torch.from_numpy(numpy.argsort(uniform(len(x), epoch + 1), kind="stable"))
            start = time.perf_counter()
            for rows in order.split(256):
                train_batch(x[rows], y[rows], params, pool, 0.2)
            seconds = time.perf_counter() - start
            print(f"  epoch {epoch + 1}: {seconds:5.2f} s, test accuracy {accuracy(*test, params[0]):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--devices", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    options = parser.parse_args()
    data = load(options.data, "train"), load(options.data, "t10k")
    for devices in options.devices:
        print(f"{devices} device{'s' if devices > 1 else ''}", flush=True)
        train(devices, data, options)


if __name__ == "__main__":
    main()
