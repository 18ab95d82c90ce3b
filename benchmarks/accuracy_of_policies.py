#!/usr/bin/env python3
"""Trains two examples in several dtype policies over some seeds and prints their accuracies as a table.

    python3 benchmarks/accuracy_of_policies.py --seeds 1 2 3

LeNet on Fashion-MNIST (5 epochs, test accuracy of the last one) and the fine-tuning of a MobileNetV2 to CIFAR-10 (the
best epoch on the test images). Fails where the mean of a policy is further than 0.01 from that of the first one.
"""

import argparse
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WANTED_DIFFERENCE = 0.01


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--policies", nargs="+", default=["float32", "mixed_bfloat16"])
    parser.add_argument("--examples", type=pathlib.Path, default=ROOT / "build/release/examples")
    parser.add_argument("--only", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--tune-epochs", type=int, default=10, help="of the fine-tuning's last blocks")
    return parser.parse_args()


def lenet(options, folder):
    return [], re.compile(r"^validation accuracy: ([0-9.]+)", re.MULTILINE)


def finetune(options, folder):
    arguments = ["--cache", "--verbose", "0", "--output", folder + "/best.keras"]
    arguments += ["--tune-epochs", str(options.tune_epochs)]
    return arguments, re.compile(r"^head .*: ([0-9.]+)$", re.MULTILINE)


PROGRAMS = {"lenet_fashion_mnist": lenet, "finetune_mobilenet_v2": finetune}


def accuracy(options, name, policy, seed):
    with tempfile.TemporaryDirectory() as folder:
        arguments, pattern = PROGRAMS[name](options, folder)
        command = [str(options.examples.resolve() / name), "--dtype", policy, "--seed", str(seed), *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    found = pattern.search(done.stdout)
    if done.returncode or not found:
        sys.exit(f"{' '.join(command)}: {done.stdout[-300:]}{done.stderr[-300:]}")
    return float(found[1])


def main():
    options = parse()
    failed = False
    print("| example | policy | " + " | ".join(f"seed {seed}" for seed in options.seeds) + " | mean |")
    print("|-|-|" + "-|" * (len(options.seeds) + 1))
    for name in options.only:
        wanted = None
        for policy in options.policies:
            found = [accuracy(options, name, policy, seed) for seed in options.seeds]
            mean = statistics.mean(found)
            wanted = mean if wanted is None else wanted
            failed |= abs(mean - wanted) > WANTED_DIFFERENCE
            cells = [f"{value:.4f}" for value in (*found, mean)]
            print(f"| {name} | {policy} | " + " | ".join(cells) + " |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
