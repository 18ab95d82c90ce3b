#!/usr/bin/env python3
"""Runs examples/data_parallel_from_scratch and its PyTorch twin in turn over some seeds, each on one device and on two.

    python3 benchmarks/compare_from_scratch.py --torch-python ~/torch-venv/bin/python --seeds 1 2 3

Prints the accuracies after the last epoch, how much the means differ, and how much faster two devices with one thread
each are than one device with one thread (time of the fastest epoch, as the example counts it).
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from contest import PEERS, ROOT, TUNED_MALLOC, busy_seconds, machine, wait_until_quiet  # noqa: E402

WANTED_SPEEDUP = 1.6
WANTED_DIFFERENCE = 0.01
EPOCH = re.compile(r"epoch (\d+): +([0-9.]+) s, test accuracy ([0-9.]+)")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument(
        "--program", type=pathlib.Path, default=ROOT / "build/release/examples/data_parallel_from_scratch"
    )
    parser.add_argument("--torch-python", type=pathlib.Path, help="interpreter of an environment with torch")
    parser.add_argument("--torch-devices", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--data", type=pathlib.Path, default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--max-load", type=float, default=0.5, help="running programs to wait for, 0: do not wait")
    parser.add_argument("--json", type=pathlib.Path, help="write all results here")
    return parser.parse_args()


def commands(options, seed):
    """(name, command, environment) of everything that runs for one seed."""
    nyala = [str(options.program), str(options.epochs), "60000", "10000", str(seed)]
    environment = {"NYALA_DATA_DIR": str(options.data.resolve().parent)}
    yield "Nyala", nyala, environment
    if options.torch_python:
        twin = [str(options.torch_python), "-B", str(PEERS / "data_parallel_from_scratch.py")]
        twin += ["--data", str(options.data), "--epochs", str(options.epochs), "--seed", str(seed), "--devices"]
        yield "PyTorch", twin + [str(devices) for devices in options.torch_devices], TUNED_MALLOC


def results_of(text):
    """One {"devices", "seconds", "accuracy"} per "N devices" heading of the output."""
    found = []
    for line in text.splitlines():
        if heading := re.fullmatch(r"(\d+) devices?", line.strip()):
            found.append({"devices": int(heading[1]), "seconds": [], "accuracy": None})
        elif epoch := EPOCH.search(line):
            found[-1]["seconds"].append(float(epoch[2]))
            found[-1]["accuracy"] = float(epoch[3])
    return found


def run(name, command, environment, seed):
    start, (all_cpus, children) = time.time(), busy_seconds()
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}, seed {seed}: exit status {done.returncode}: {done.stderr.strip()[-500:]}")
    seconds, (all_now, children_now) = time.time() - start, busy_seconds()
    others = max(0.0, all_now - all_cpus - (children_now - children)) / seconds
    print(f"{name}, seed {seed}: {seconds:.0f} s, others used {others:.2f} CPUs", file=sys.stderr, flush=True)
    return [{"name": name, "seed": seed, "others": round(others, 2), **result} for result in results_of(done.stdout)]


def print_rows(results):
    print("| program | devices | mean accuracy | of the seeds | fastest epoch, median | others' CPUs |\n|-|-|-|-|-|-|")
    for name, devices in sorted({(r["name"], r["devices"]) for r in results}):
        own = [r for r in results if (r["name"], r["devices"]) == (name, devices)]
        accuracies = [r["accuracy"] for r in own]
        fastest = statistics.median(min(r["seconds"]) for r in own)
        print(f"| {name} | {devices} | {statistics.mean(accuracies):.4f} | {', '.join(f'{a:.4f}' for a in accuracies)} "
              f"| {fastest:.2f} s | {max(r['others'] for r in own):.2f} |")  # fmt: skip
    print()


def print_verdicts(results):
    def of(name, devices):
        return {r["seed"]: r for r in results if (r["name"], r["devices"]) == (name, devices)}

    for name in sorted({r["name"] for r in results}):
        one, two = of(name, 1), of(name, 2)
        both = [seed for seed in one if seed in two]
        if not both:
            continue
        faster = [min(one[seed]["seconds"]) / min(two[seed]["seconds"]) for seed in both]
        apart = max(abs(one[seed]["accuracy"] - two[seed]["accuracy"]) for seed in both)
        middle = statistics.median(faster)
        wanted = ""
        if name == "Nyala":
            wanted = f" (>= {WANTED_SPEEDUP}: {'met' if middle >= WANTED_SPEEDUP else 'MISSED'})"
        print(f"{name}: 2 devices are {middle:.2f} times as fast as 1{wanted}, by seed "
              f"{', '.join(f'{f:.2f}' for f in faster)}; accuracies differ by at most {apart:.4f}")  # fmt: skip
    print_difference(results)


def print_difference(results):
    """One device of each against the other: they begin with the same weights and see the same rows. One seed says
    little: the order of a sum alone moves its accuracy by a hundredth, in PyTorch with itself too (its 1 and 2 devices)."""
    own = [
        {r["seed"]: r["accuracy"] for r in results if r["name"] == n and r["devices"] == 1} for n in ("Nyala", "PyTorch")
    ]
    if not all(own):
        return
    apart = abs(statistics.mean(own[0].values()) - statistics.mean(own[1].values()))
    verdict = "met" if apart <= WANTED_DIFFERENCE else "MISSED"
    print(f"mean accuracies of Nyala and PyTorch on one device differ by {apart:.4f} (<= {WANTED_DIFFERENCE}: {verdict}), "
          f"by seed {', '.join(f'{abs(own[0][seed] - own[1][seed]):.4f}' for seed in own[0])}")  # fmt: skip


def main():
    options = parse()
    if not options.program.exists():
        sys.exit(f"{options.program} does not exist: build it first, or name it with --program")
    where, results = machine(), []
    for seed in options.seeds:
        for name, command, environment in commands(options, seed):
            wait_until_quiet(options.max_load)
            results += run(name, command, environment, seed)
    print(f"{where['date']}, {where['cpu']}, {where['cpus']} CPUs, load average {where['load'][0]} before the first; "
          f"{options.epochs} epochs, {len(options.seeds)} seeds, one thread per device\n")  # fmt: skip
    print_rows(results)
    print_verdicts(results)
    if options.json:
        options.json.write_text(json.dumps({"machine": where, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
