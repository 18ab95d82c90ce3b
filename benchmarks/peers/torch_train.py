#!/usr/bin/env python3
"""The training steps of train_throughput in PyTorch (CPU, channels_last): one JSON line.

python torch_train.py --model resnet20 --threads 2 --seconds 10 --compile none
python torch_train.py --model resnet20 --devices 2 --threads 1

With --dtype mixed_bfloat16 or mixed_float16: under torch.autocast, the loss in float32 as it has it.
With --devices: DistributedDataParallel over Gloo, one process per device, each with its part of the batch and with
BatchNormalization over that part alone.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import warnings

import common

OPTIONS = common.arguments(__doc__.splitlines()[0], ["none", "default", "max-autotune"])
common.limit_threads(OPTIONS.threads)

import torch  # noqa: E402
from torch import distributed, nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import torch_networks  # noqa: E402

RANK = int(os.environ.get("RANK", 0))

warnings.filterwarnings("ignore", message=".*broadcast_buffers.*")
torch.manual_seed(0)
torch.set_num_threads(OPTIONS.threads)
torch.set_flush_denormal(True)


class Rescale(nn.Module):
    def forward(self, x):
        return x * (1 / 255.0)


class Block(nn.Module):
    """Two 3x3 convolutions; a 1x1 convolution on the shortcut where the shape changes."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        y = functional.relu(self.norm1(self.conv1(x)), inplace=True)
        return functional.relu(self.norm2(self.conv2(y)) + self.shortcut(x), inplace=True)


def resnet20():
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
    width = 16
    for outputs, stride in ((16, 1), (32, 2), (64, 2)):
        for index in range(3):
            layers.append(Block(width, outputs, stride if index == 0 else 1))
            width = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Sigmoid(), nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5), nn.Sigmoid(), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.Sigmoid(), nn.Linear(120, 84), nn.Sigmoid(), nn.Linear(84, 10))  # fmt: skip


def lenet():
    return nn.Sequential(
        Rescale(), nn.Conv2d(1, 20, 3), nn.ReLU(inplace=True), nn.AvgPool2d(2),
        nn.Conv2d(20, 50, 5), nn.ReLU(inplace=True), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(800, 128), nn.ReLU(inplace=True), nn.Linear(128, 10))  # fmt: skip


def mlp():
    return nn.Sequential(
        nn.Linear(784, 512),
        nn.ReLU(inplace=True),
        nn.Linear(512, 512),
        nn.ReLU(inplace=True),
        nn.Linear(512, 10),
    )


class LastOutput(nn.Module):
    """An LSTM over (batch, time, features) that gives its last output."""

    def __init__(self, features, units):
        super().__init__()
        self.lstm = nn.LSTM(features, units, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[1][0][0]


def lstm():
    return nn.Sequential(LastOutput(128, 128), nn.Linear(128, 10))


class MeanOfTokens(nn.Module):
    def forward(self, x):
        return x.mean(dim=1)


def transformer():
    """One encoder block of Vaswani et al. 2017 and the mean over all tokens."""
    block = nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, activation="relu", batch_first=True)
    return nn.Sequential(block, MeanOfTokens(), nn.Linear(256, 10))


def batch(options):
    shape = common.INPUTS[options.model]
    rows = options.batch // options.devices
    x = torch.rand(rows, *shape)
    if options.model == "lenet":
        x = x * 255.0
    if len(shape) == 3:
        x = x.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
    return x, torch.randint(0, common.classes(options), (rows,))


def join_group(devices):
    """Starts this program once more for every other rank; all meet at a file. Rank 0 gets the others' processes."""
    others = []
    if RANK == 0:
        os.environ["DDP_MEETING"] = os.path.join(tempfile.mkdtemp(prefix="ddp"), "meeting")
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        command = [sys.executable, "-B", *sys.argv]
        others = [subprocess.Popen(command, env={**os.environ, "RANK": str(r)}) for r in range(1, devices)]
    meeting = "file://" + os.environ["DDP_MEETING"]
    distributed.init_process_group("gloo", init_method=meeting, rank=RANK, world_size=devices)
    return others


def leave_group(others):
    for process in others:
        process.wait()
    distributed.destroy_process_group()
    shutil.rmtree(os.path.dirname(os.environ["DDP_MEETING"]))


def follow(run_steps):
    """What the other ranks do: as many steps as rank 0 says, until it says 0."""
    count = torch.ones(1, dtype=torch.int64)
    while count.item():
        distributed.broadcast(count, 0)
        run_steps(count.item())


def led(run_steps):
    """What rank 0 measures: tell the others, then work with them."""

    def run_together(count):
        distributed.broadcast(torch.tensor([count]), 0)
        run_steps(count)

    return run_together


def main():
    others = join_group(OPTIONS.devices) if OPTIONS.devices > 1 else []
    big = (torch_networks.resnet18, torch_networks.resnet50, torch_networks.mobilenet_v2, torch_networks.xception)
    networks = (lenet5, lenet, resnet20, mlp, lstm, transformer, *big)
    OPTIONS.memory_before = common.memory("VmRSS")
    model = {network.__name__: network for network in networks}[OPTIONS.model]()
    if OPTIONS.model not in ("mlp", "lstm", "transformer"):
        model = model.to(memory_format=torch.channels_last)
    model.train(not OPTIONS.inference)
    if OPTIONS.devices > 1:
        model = nn.parallel.DistributedDataParallel(
            model, broadcast_buffers=False, gradient_as_bucket_view=True, static_graph=True
        )
    optimizer = torch.optim.SGD(
        model.parameters(), lr=common.LEARNING_RATE, momentum=common.MOMENTUM, foreach=OPTIONS.batch > 1
    )
    x, y = batch(OPTIONS)

    half = {"mixed_bfloat16": torch.bfloat16, "mixed_float16": torch.float16}.get(OPTIONS.dtype)

    def autocast():
        return torch.autocast("cpu", dtype=half, enabled=half is not None)

    def loss_of(images, labels):
        with autocast():
            return functional.cross_entropy(model(images), labels)

    def outputs_of(images):
        with autocast():
            return model(images)

    forward, predict = loss_of, outputs_of
    if OPTIONS.compile != "none":
        mode = None if OPTIONS.compile == "default" else OPTIONS.compile
        forward, predict = torch.compile(loss_of, mode=mode), torch.compile(outputs_of, mode=mode)

    def predictions(count):
        with torch.inference_mode():
            for _ in range(count):
                predict(x)

    def run_steps(count):
        if OPTIONS.inference:
            return predictions(count)
        for _ in range(count):
            optimizer.zero_grad(set_to_none=OPTIONS.devices == 1)
            forward(x, y).backward()
            optimizer.step()

    if RANK > 0:
        return follow(run_steps)
    if OPTIONS.devices > 1:
        run_steps = led(run_steps)
    times, count = common.measure(OPTIONS, run_steps)
    if OPTIONS.devices > 1:
        run_steps(0)
        leave_group(others)
    program = "torch_eager" if OPTIONS.compile == "none" else f"torch_compile_{OPTIONS.compile}"
    if OPTIONS.devices > 1:
        program += "_ddp"
    common.report(
        program, OPTIONS, times, count, {"torch": torch.__version__, "python": platform.python_version()}
    )


if __name__ == "__main__":
    main()
