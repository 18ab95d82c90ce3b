#!/usr/bin/env python3
"""Runs all_reduce_benchmark and prints algorithm by size and replicas, next to a plain loop over the same buffers.

    python3 benchmarks/all_reduce_table.py                       # two threads
    python3 benchmarks/all_reduce_table.py --from result.json    # a result of --benchmark_format=json

GB/s count the bytes of one buffer. The memory limit is the speed of a copy (one buffer read, one written) divided by
the number of replicas (all are read and written). Small buffers lie in the caches of the cores, which replicas may
share better than the copy does. All cells are repeated in random order; the medians are shown.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALGORITHMS = ["DirectAllReduce", "RingAllReduce", "HierarchicalCopyAllReduce", "ReductionToOneDevice"]
JUDGED_FROM = 10_000_000  # bytes
LIMITED_FROM = 1_000_000  # below, a copy by a team takes the time to start the team
WANTED = 0.85


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/benchmarks/all_reduce_benchmark")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="at least, of one repetition of one cell")
    parser.add_argument("--from", type=pathlib.Path, dest="source", help="print this result instead of running")
    parser.add_argument("--json", type=pathlib.Path, help="write the benchmark's output here")
    return parser.parse_args()


def run(options):
    command = [
        str(options.program),
        "--benchmark_format=json",
        f"--benchmark_min_time={options.seconds}",
        f"--benchmark_repetitions={options.repetitions}",
        "--benchmark_enable_random_interleaving=true",
    ]
    environment = {**os.environ, "NYALA_THREADS": str(options.threads)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    if options.json:
        options.json.write_text(done.stdout)
    return json.loads(done.stdout)


def median_speeds(result):
    """{(algorithm, bytes, replicas): GB/s}"""
    speeds = {}
    for line in result["benchmarks"]:
        if line.get("run_type") == "aggregate":
            continue
        name, size, replicas = line["name"].split("/")[:3]
        cell = (name, int(size.split(":")[1]), int(replicas.split(":")[1]))
        speeds.setdefault(cell, []).append(line["bytes_per_second"] / 1e9)
    return {cell: statistics.median(values) for cell, values in speeds.items()}


def size_name(size):
    return f"{size / 1e6:.0f} MB" if size > 999_999 else f"{size // 1024} KB"


def time_name(size, speed):
    ms = size / speed / 1e6
    return f"{ms:.2f} ms" if ms >= 0.1 else f"{ms * 1e3:.1f} us"


def row(speeds, size, replicas):
    plain = speeds["plain_loop", size, replicas]
    limit = f"{speeds['copy', size, 2] / replicas:.1f}" if size >= LIMITED_FROM else "-"
    cells = [size_name(size), str(replicas), limit, f"{plain:.1f}, {time_name(size, plain)}"]
    for name in ALGORITHMS:
        speed = speeds[name, size, replicas]
        cells.append(f"{speed:.1f} ({speed / plain:.0%}), {time_name(size, speed)}")
    return "| " + " | ".join(cells) + " |"


def judge(speeds, sizes_and_replicas):
    for size, replicas in sizes_and_replicas:
        if size >= JUDGED_FROM:
            share = speeds["DirectAllReduce", size, replicas] / speeds["plain_loop", size, replicas]
            verdict = "met" if share >= WANTED else "MISSED"
            print(f"direct / plain loop, {size_name(size)}, {replicas} replicas: {share:.2f} (>= {WANTED}) {verdict}")


def main():
    options = parse()
    if not options.source and not options.program.exists():
        sys.exit(f"{options.program} does not exist: build the target all_reduce_benchmark first, or use --program")
    result = json.loads(options.source.read_text()) if options.source else run(options)
    speeds = median_speeds(result)
    cells = sorted({(size, replicas) for name, size, replicas in speeds if name == "plain_loop"})
    context = result["context"]
    print(f"{context['date'][:10]}, {context['num_cpus']} CPUs, load average {context['load_avg'][0]:.2f} before the "
          "first; GB/s of one buffer (share of the plain loop), time of one all-reduce\n")  # fmt: skip
    print("| size | replicas | memory limit | plain loop | " + " | ".join(ALGORITHMS) + " |")
    print("|-" * (4 + len(ALGORITHMS)) + "|")
    for size, replicas in cells:
        print(row(speeds, size, replicas))
    print()
    judge(speeds, cells)


if __name__ == "__main__":
    main()
