#!/usr/bin/env python3
"""Runs small_programs with busy loops beside them, in the default environment and in tuned ones, in turn.

    python3 benchmarks/compare_busy_cores.py --rounds 5

Prints medians of the wall time and the CPU time of the whole program, and the ratio of neighbours in time: default
against GOMP_SPINCOUNT=5000, which should not be above 1.3. --baseline names the program of another build, which runs
in the default environment, too.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from contest import ROOT, run_once  # noqa: E402

PROGRAMS = ["regression", "autoencoder", "convolutional_autoencoder", "text_service", "image_service", "recurrent"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/benchmarks/small_programs")
    parser.add_argument("--baseline", type=pathlib.Path, help="small_programs of another build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--loops", type=int, default=2, help="busy loops beside the programs")
    parser.add_argument("--programs", nargs="+", default=PROGRAMS)
    return parser.parse_args()


def contestants(options, program):
    """label -> how it is run; the first two are compared."""
    command = [str(options.program), program]
    everybody = {
        "default": {"command": command, "environment": {}},
        "tuned": {"command": command, "environment": {"GOMP_SPINCOUNT": "5000"}},
    }
    if options.baseline:
        everybody["baseline"] = {"command": [str(options.baseline), program], "environment": {}}
    return everybody


def compare(options, program):
    everybody = contestants(options, program)
    results = {label: [] for label in everybody}
    for _ in range(options.rounds):
        for label, contestant in everybody.items():
            result = run_once(contestant, 600)
            if "error" in result:
                sys.exit(f"{program}, {label}: {result['error']}")
            results[label].append(result)
    columns = []
    for label, runs in results.items():
        seconds, cpu = (statistics.median(run[what] for run in runs) for what in ("seconds", "cpu_seconds"))
        columns.append(f"{label} {seconds:.3f} s ({cpu:.3f} s CPU)")
    pairs = zip(results["default"], results["tuned"])
    ratio = statistics.median(ours["seconds"] / tuned["seconds"] for ours, tuned in pairs)
    print(f"{program}: {', '.join(columns)}; default / tuned {ratio:.2f}", flush=True)


def main():
    options = parse()
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.loops)]
    try:
        for program in options.programs:
            compare(options, program)
    finally:
        for loop in loops:
            loop.kill()


main()
