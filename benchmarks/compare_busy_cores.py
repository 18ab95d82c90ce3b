#!/usr/bin/env python3
"""Runs small programs with busy loops beside them, in the default environment and in tuned ones, in turn.

    python3 benchmarks/compare_busy_cores.py --rounds 5
    python3 benchmarks/compare_busy_cores.py --examples data

The first line runs small_programs, the second the ten example programs of docs/from_keras.md with real files below
`data` (NYALA_DATA_DIR). Prints medians of the wall time and the CPU time of the whole program, and the ratio of neighbours in time: default
against GOMP_SPINCOUNT=5000, which should not be above 1.3. --baseline names the program of another build (with
--examples: its folder), which runs in the default environment, too.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from contest import OPENMP_WAITING, ROOT, run_once  # noqa: E402

PROGRAMS = ["regression", "autoencoder", "convolutional_autoencoder", "text_service", "image_service", "recurrent"]

EXAMPLES = {
    "csv_regression": ["examples/data/houses.csv", "--epochs", "60"],
    "vae": ["--rows", "2000", "--epochs", "2"],
    "gan": ["--rows", "768", "--epochs", "2"],
    "unet_shapes": ["--pictures", "128", "--epochs", "4"],
    "transfer_grad_cam": ["--rows", "512", "--epochs", "4"],
    "text_classification": ["text/tinyshakespeare.txt", "text/republic_clean.txt", "--lines", "2000", "--epochs", "2"],
    "own_layers_and_losses": ["--epochs", "10"],
    "k_fold": ["examples/data/houses.csv", "--epochs", "15"],
    "own_training_loop": ["--rows", "1280", "--epochs", "2"],
    "inference_service": ["--requests", "100"],
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/benchmarks/small_programs")
    parser.add_argument("--baseline", type=pathlib.Path, help="small_programs of another build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--loops", type=int, default=2, help="busy loops beside the programs")
    parser.add_argument("--programs", nargs="+", help="some of them")
    parser.add_argument("--examples", type=pathlib.Path, help="run the examples, with the files below this folder")
    return parser.parse_args()


def run_example(contestant, timeout):
    """What run_once tells of a program that prints no JSON."""
    environment = {k: v for k, v in os.environ.items() if k not in OPENMP_WAITING} | contestant["environment"]
    start, before = time.time(), os.times()
    done = subprocess.run(contestant["command"], env=environment, capture_output=True, text=True, timeout=timeout)
    seconds, after = time.time() - start, os.times()
    if done.returncode:
        return {"error": f"exit status {done.returncode}: {done.stderr.strip()[-300:]}"}
    children = [times.children_user + times.children_system for times in (before, after)]
    return {"seconds": seconds, "cpu_seconds": children[1] - children[0]}


def command_of(options, program, build):
    """The command line of a program of small_programs or, with --examples, of an example in the folder `build`."""
    if not options.examples:
        return [str(build or options.program), program]
    folders = {"examples": ROOT, "text": options.examples}
    arguments = [str(folders[word.split("/")[0]] / word) if "/" in word else word for word in EXAMPLES[program]]
    return [str((build or ROOT / "build/release/examples") / program), *arguments]


def contestants(options, program):
    """label -> how it is run; the first two are compared."""
    command = command_of(options, program, None)
    everybody = {
        "default": {"command": command, "environment": {}},
        "tuned": {"command": command, "environment": {"GOMP_SPINCOUNT": "5000"}},
    }
    if options.baseline:
        everybody["baseline"] = {"command": command_of(options, program, options.baseline), "environment": {}}
    return everybody


def compare(options, program):
    everybody = contestants(options, program)
    results = {label: [] for label in everybody}
    for _ in range(options.rounds):
        for label, contestant in everybody.items():
            result = (run_example if options.examples else run_once)(contestant, 600)
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
        for program in options.programs or (EXAMPLES if options.examples else PROGRAMS):
            compare(options, program)
    finally:
        for loop in loops:
            loop.kill()


main()
