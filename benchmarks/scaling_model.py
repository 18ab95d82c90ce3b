#!/usr/bin/env python3
"""How long a step of synchronous training takes on 1 to 10,000 workers: a model, what it is checked against, a plot.

    for n in 2 3 4; do communicator_benchmark gloo $n; done >links.txt
    python3 benchmarks/scaling_model.py --links links.txt --steps steps.json --plot docs/scaling.svg

A worker computes for `compute` seconds, two thirds of them backward. Its gradients are exchanged in buckets as
backward makes them; what is not done when backward ends is waited for. With n hosts a bucket of b bytes takes

    direct (Nyala between hosts):  latency * 3 + message * 3 (n - 1) + 2 (n - 1) / n * b / bandwidth
    ring:                          (latency + message) * 2 (n - 1) + 2 (n - 1) / n * b / bandwidth
    parameter servers on s hosts:  latency * 2 + message * 2 n + max(b, b / s * (n - 1)) / bandwidth, each way

and all wait for the slowest of the workers: the step is longer by `jitter` times the expected maximum of as many
standard normal numbers (Blom 1958). Layers whose replicas speak with each other (BatchNormalization: once forward,
once backward) make all meet in the middle of a step: each of these meetings exchanges some hundred bytes, and the
workers wait for the slowest of each stretch between two of them. What disturbs stretches is independent, hence
`jitter` grows with the square root of their number. --links fits latency, message and bandwidth to what communicator_benchmark
printed (least squares of relative errors); --steps holds train_throughput's lines of 1 to 4 processes.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import re
import statistics

BACKWARD = 2 / 3  # of a step: two products of every forward one
MEETING = 512  # bytes: two sums of 64 channels


@dataclasses.dataclass
class Links:
    latency: float  # seconds until a message is there
    message: float  # seconds of a rank's time for each message
    bandwidth: float  # bytes per second into and out of a host
    way: str = "direct"
    servers: int = 0

    def exchange(self, hosts, size):
        """Seconds in which all hosts know the sum of `size` bytes of each."""
        if hosts == 1:
            return 0.0
        others = hosts - 1
        if self.way == "direct":
            return 3 * self.latency + 3 * others * self.message + 2 * others / hosts * size / self.bandwidth
        if self.way == "ring":
            return 2 * others * (self.latency + self.message) + 2 * others / hosts * size / self.bandwidth
        busiest = max(size, size / self.servers * others)
        return 2 * (self.latency + hosts * self.message + busiest / self.bandwidth)


@dataclasses.dataclass
class Training:
    compute: float  # seconds of a step of one worker that is alone
    gradients: float  # bytes
    bucket: float = 2**18
    jitter: float = 0.0  # of one worker's step, relative
    meetings: int = 0  # of all workers within a step
    cores: float = math.inf  # that all workers share


def slowest(count):
    """The expected maximum of so many standard normal numbers."""
    return statistics.NormalDist().inv_cdf((count - 0.375) / (count + 0.25)) if count > 1 else 0.0


def step_seconds(training, links, workers, per_host=1):
    hosts = math.ceil(workers / per_host)
    compute = training.compute * max(1.0, workers / training.cores)
    stretches = 1 + training.meetings
    compute *= 1 + training.jitter * math.sqrt(stretches) * slowest(workers)
    compute += training.meetings * links.exchange(hosts, MEETING)
    buckets = max(1, round(training.gradients / training.bucket))
    one = links.exchange(hosts, training.gradients / buckets)
    begun = compute * (1 - BACKWARD)
    done = begun
    for i in range(buckets):  # a bucket goes when it is ready and the one before is through
        done = max(done, begun + compute * BACKWARD * (i + 1) / buckets) + one
    return max(done, compute)


def efficiency(training, links, workers, per_host=1, of=1):
    """Of what `of` workers do each."""
    return step_seconds(training, links, of, per_host) / step_seconds(training, links, workers, per_host)


# ---- what communicator_benchmark measured


def read_links(path):
    """(ranks, bytes, seconds) of each line of an all-reduce; the ranks stand in its first word: "gloo/3"."""
    found = []
    for line in path.read_text().splitlines():
        match = re.match(r"\w+/(\d+)\s+(\d+) bytes\s+median\s+([\d.]+) us", line)
        if match:
            found.append((int(match[1]), int(match[2]), float(match[3]) * 1e-6))
    return found


def fitted(measured):
    """Links that fit best: coordinate descent on the logarithms."""

    def error(links):
        return sum((math.log(links.exchange(n, size) / seconds)) ** 2 for n, size, seconds in measured)

    best, width = Links(20e-6, 5e-6, 1e9), 4.0
    while width > 1.001:
        changed = False
        for field in ("latency", "message", "bandwidth"):
            for factor in (width, 1 / width):
                other = dataclasses.replace(best, **{field: getattr(best, field) * factor})
                if error(other) < error(best):
                    best, changed = other, True
        width = width if changed else math.sqrt(width)
    return best


# ---- published tables

# TensorFlow's performance guide (r1, "Details for Amazon EC2 Distributed"): p2.8xlarge, 8 K80 and 10 Gbit/s per
# host, variables on parameter servers on the same hosts, synthetic data. Images per second by GPUs, bytes of the
# weights, rows of a GPU's batch, parameter servers among the hosts where they were fewer.
TENSORFLOW = {
    "InceptionV3": ({8: 229, 16: 459, 32: 902, 64: 1783}, 4 * 23.9e6, 64, {8: 6}),
    "ResNet-50": ({8: 378, 16: 751, 32: 1388, 64: 2744}, 4 * 25.6e6, 64, {}),
    "ResNet-152": ({8: 146, 16: 291, 32: 565, 64: 981}, 4 * 60.3e6, 32, {8: 4}),
}
# Horovod's benchmarks page: 128 hosts of 4 Pascal GPUs and 25 Gbit/s RoCE: 90 % of 512 times one GPU for
# Inception V3 and ResNet-101, 68 % for VGG-16; ring over all. A P100's images per second at 64 rows: TensorFlow's
# performance guide (142 Inception V3, 91.3 ResNet-152, 154 VGG-16), ResNet-101 between ResNet-50's 219 and those.
HOROVOD = {
    "Inception V3": (0.90, 4 * 23.9e6, 64 / 142),
    "ResNet-101": (0.90, 4 * 44.7e6, 64 / 132),
    "VGG-16": (0.68, 4 * 138.4e6, 64 / 154),
}
GOODPUT = 0.8  # of a link's nominal bits


def published(jitter):
    """(table, what, workers, published efficiency, the model's)."""
    rows = []
    for name, (speeds, size, batch, servers) in TENSORFLOW.items():
        training = Training(batch * 8 / speeds[8], size, 2**22, jitter)
        for gpus in (16, 32, 64):
            hosts = gpus // 8
            links = Links(50e-6, 10e-6, GOODPUT * 10e9 / 8, "servers", servers.get(hosts, hosts))
            measured = speeds[gpus] / gpus / (speeds[8] / 8)
            rows.append(("TensorFlow, K80", name, gpus, measured, efficiency(training, links, gpus, 8, of=8)))
    for name, (measured, size, seconds) in HOROVOD.items():
        links = Links(10e-6, 2e-6, GOODPUT * 25e9 / 8, "ring")
        training = Training(seconds, size, 2**26, jitter)
        rows.append(("Horovod, P100", name, 512, measured, efficiency(training, links, 512, 4)))
    return rows


# ---- what is printed and drawn


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "-|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


COUNTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 2000, 5000, 10000]


def curves(fit, jitter):
    """Efficiency by workers, one worker per host: what is trained over which links."""
    ten = dataclasses.replace(fit, bandwidth=GOODPUT * 10e9 / 8, latency=max(fit.latency, 25e-6))
    hundred = dataclasses.replace(ten, bandwidth=GOODPUT * 100e9 / 8)
    resnet = Training(0.32, 4 * 25.6e6, 2**22, jitter, meetings=2 * 53)
    small = Training(0.03, 4 * 0.27e6, 2**18, jitter, meetings=2 * 21)
    alone = dataclasses.replace(resnet, meetings=0)
    return {
        "ResNet-50, 0.32 s, 10 Gbit/s": [efficiency(resnet, ten, n) for n in COUNTS],
        "the same by a ring": [efficiency(resnet, dataclasses.replace(ten, way="ring"), n) for n in COUNTS],
        "ResNet-50, 0.32 s, 100 Gbit/s": [efficiency(resnet, hundred, n) for n in COUNTS],
        "the same without BatchNormalization": [efficiency(alone, hundred, n) for n in COUNTS],
        "ResNet-20, 0.03 s, 10 Gbit/s": [efficiency(small, ten, n) for n in COUNTS],
    }


COLOURS = ["#1f77b4", "#7f7f7f", "#2ca02c", "#9467bd", "#d62728"]


def svg(lines):
    """Efficiency over the logarithm of workers."""

    def at(count, value):
        return f"{60 + 540 * math.log10(count) / 4:.1f},{320 - 290 * value:.1f}"

    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="640" height="456" font-family="sans-serif" font-size="12">']
    parts.append('<rect width="640" height="456" fill="white"/>')
    for tenth in range(0, 11, 2):
        x, y = at(1, tenth / 10).split(",")
        parts.append(f'<path d="M{x},{y}H600" stroke="#ddd"/><text x="52" y="{y}" text-anchor="end">{10 * tenth} %</text>')
    for power in range(5):
        x, y = at(10**power, 0).split(",")
        parts.append(f'<path d="M{x},{y}V30" stroke="#ddd"/><text x="{x}" y="338" text-anchor="middle">{10**power:,}</text>')
    parts.append('<text x="330" y="356" text-anchor="middle">workers, one per host</text>')
    parts.append('<text x="60" y="18">efficiency: speed per worker, of one worker alone</text>')
    for i, (name, values) in enumerate(lines.items()):
        points = " ".join(at(count, value) for count, value in zip(COUNTS, values))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[i]}" stroke-width="2"/>')
        y = 376 + 16 * i
        parts.append(f'<path d="M60,{y - 4}h24" stroke="{COLOURS[i]}" stroke-width="2"/><text x="92" y="{y}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--links", type=pathlib.Path, help="lines of communicator_benchmark")
    parser.add_argument("--steps", type=pathlib.Path, help="train_throughput's lines of 1 to 4 processes")
    parser.add_argument("--gradients", type=float, default=4 * 0.27e6, help="bytes of the model of --steps (ResNet-20)")
    parser.add_argument("--meetings", type=int, default=2 * 21, help="within a step of that model")
    parser.add_argument("--cores", type=float, default=2, help="of the machine of --steps")
    parser.add_argument("--jitter", type=float, default=0.03, help="of one worker's step, relative")
    parser.add_argument("--plot", type=pathlib.Path, help="write the plot here (SVG)")
    options = parser.parse_args()

    links = Links(25e-6, 6e-6, 1.5e9)
    if options.links:
        measured = read_links(options.links)
        links = fitted(measured)
        print(f"latency {links.latency * 1e6:.1f} us, message {links.message * 1e6:.1f} us, "
              f"bandwidth {links.bandwidth / 1e9:.2f} GB/s\n")  # fmt: skip
        rows = [(n, size, f"{seconds * 1e6:.0f}", f"{links.exchange(n, size) * 1e6:.0f}") for n, size, seconds in measured]
        print(table(["ranks", "bytes", "measured us", "model us"], rows), "\n")
    if options.steps:
        lines = [json.loads(line) for line in options.steps.read_text().splitlines() if line.startswith("{")]
        alone = next(line for line in lines if line["processes"] == 1)
        rows = []
        for line in lines:  # the global batch is the same: each worker computes its part of it
            n = line["processes"]
            training = Training(alone["step_ms_median"] * 1e-3 / n, options.gradients, jitter=options.jitter,
                                meetings=options.meetings, cores=options.cores)  # fmt: skip
            model = step_seconds(training, links, n) * 1e3
            rows.append((n, f"{line['step_ms_median']:.2f}", f"{model:.2f}", f"{model / line['step_ms_median'] - 1:+.0%}"))
        print(table(["processes", "measured ms", "model ms", "error"], rows), "\n")
    rows = [(*row[:3], f"{row[3]:.2f}", f"{row[4]:.2f}", f"{row[4] / row[3] - 1:+.0%}") for row in published(options.jitter)]
    print(table(["published", "model", "GPUs", "efficiency", "this model", "error"], rows), "\n")
    lines = curves(links, options.jitter)
    rows = [(f"{n:,}", *(f"{values[i]:.0%}" for values in lines.values())) for i, n in enumerate(COUNTS)]
    print(table(["workers", *lines], rows))
    if options.plot:
        options.plot.write_text(svg(lines))


if __name__ == "__main__":
    main()
