#!/usr/bin/env python3
"""Runs train_throughput and its peers interleaved (A B C A B C ...) and prints how they compare.

    python3 benchmarks/compare.py --torch-python ~/torch-venv/bin/python --keras-python ~/keras-venv/bin/python

Peers run with glibc told to keep freed memory (untuned, page faults cost PyTorch a third or more of its speed);
ours with a short spin of OpenMP's barriers. Every program is a process of its own, one at a time. The ratio is our
median over the best peer's median; a machine that is not quiet shows in the load column.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ROOT / "benchmarks" / "peers"
TUNED_MALLOC = {
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "17179869184",
    "MALLOC_TOP_PAD_": "268435456",
}
SHORT_SPIN = {"GOMP_SPINCOUNT": "5000"}
BATCH = {"lenet5": 256, "lenet": 256, "resnet20": 128, "mlp": 128, "lstm": 64}


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", choices=list(BATCH), default=list(BATCH))
    parser.add_argument("--rounds", type=int, default=3, help="how often each program runs per model")
    parser.add_argument("--seconds", type=float, default=10.0, help="measured time of one run")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--program", type=pathlib.Path, default=ROOT / "build/release/benchmarks/train_throughput"
    )
    parser.add_argument("--torch-python", type=pathlib.Path, help="interpreter of an environment with torch")
    parser.add_argument(
        "--keras-python", type=pathlib.Path, help="interpreter of one with keras and tensorflow"
    )
    parser.add_argument(
        "--latency", action="store_true", help="also: one LeNet-5 step at batch 1, one thread"
    )
    parser.add_argument("--strategies", action="store_true", help="also: two devices with one thread each")
    parser.add_argument("--default-malloc", action="store_true", help="leave malloc of the peers alone")
    parser.add_argument(
        "--max-load", type=float, default=0.5, help="wait for a load average below this, 0: never"
    )
    parser.add_argument("--json", type=pathlib.Path, help="write all lines here")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one run")
    return parser.parse_args()


def ours(options, label, model, **arguments):
    """A contestant: name, command, environment."""
    command = [str(options.program), "--model", model, "--seconds", str(options.seconds)]
    for key, value in arguments.items():
        command += [f"--{key}", str(value)]
    return {"name": label, "ours": True, "command": command, "environment": SHORT_SPIN}


def peer(options, python, script, label, model, *arguments):
    command = [str(python), "-B", str(PEERS / script), "--model", model, "--seconds", str(options.seconds)]
    environment = {} if options.default_malloc else TUNED_MALLOC
    return {"name": label, "ours": False, "command": command + list(arguments), "environment": environment}


def peers(options, model, *extra, keras_modes):
    result = []
    if options.torch_python:
        for mode in ("none", "default"):
            label = "PyTorch eager" if mode == "none" else "torch.compile"
            result.append(
                peer(options, options.torch_python, "torch_train.py", label, model, "--compile", mode, *extra)
            )
    if options.keras_python:
        for mode in keras_modes:
            result.append(
                peer(
                    options,
                    options.keras_python,
                    "keras_train.py",
                    f"Keras {mode}",
                    model,
                    "--compile",
                    mode,
                    *extra,
                )
            )
    return result


def contests(options):
    """(title, contestants): what is compared with what."""
    threads = ("--threads", str(options.threads))
    for model in options.models:
        contest = [ours(options, "Nyala", model, batch=BATCH[model], threads=options.threads, devices=1)]
        yield f"{model}, batch {BATCH[model]}, {options.threads} threads", contest + peers(
            options, model, *threads, keras_modes=["graph"]
        )
    if options.latency:
        contest = [ours(options, "Nyala", "lenet5", batch=1, threads=1, devices=1)]
        yield "lenet5, one step, batch 1, 1 thread", contest + peers(
            options, "lenet5", "--latency", keras_modes=["step", "xla", "batch"]
        )
    if options.strategies:
        for model in options.models:
            same = {"batch": BATCH[model]}
            yield f"{model}, strategies, batch {BATCH[model]}", [
                ours(
                    options,
                    "two devices, one thread each",
                    model,
                    **same,
                    threads=1,
                    devices=2,
                    strategy="mirrored",
                ),
                ours(options, "one device, two threads", model, **same, threads=2, devices=1),
                ours(options, "one device, one thread", model, **same, threads=1, devices=1),
                ours(
                    options,
                    "mirrored on one device, two threads",
                    model,
                    **same,
                    threads=2,
                    devices=1,
                    strategy="mirrored",
                ),
            ]


def wait_until_quiet(limit):
    """Load decays slowly after our own runs, so look at what runs now: the fourth field of /proc/loadavg."""
    give_up = time.time() + 120
    while limit and time.time() < give_up:
        running = [
            int(pathlib.Path("/proc/loadavg").read_text().split()[3].split("/")[0])
            for _ in range(5)
            if not time.sleep(0.1)
        ]
        if statistics.mean(running) - 1 <= limit:
            return
        time.sleep(2)


def run_once(contestant, options):
    environment = {k: v for k, v in os.environ.items() if k not in TUNED_MALLOC and k not in SHORT_SPIN}
    environment.update(contestant["environment"])
    try:
        done = subprocess.run(
            contestant["command"], env=environment, capture_output=True, text=True, timeout=options.timeout
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"error": str(error)}
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {"error": f"exit status {done.returncode}: {done.stderr.strip()[-300:]}"}
    return lines[-1]


def run_contest(title, contestants, options):
    results = {c["name"]: [] for c in contestants}
    for round_number in range(options.rounds):
        for contestant in contestants:
            wait_until_quiet(options.max_load)
            line = run_once(contestant, options)
            if "error" in line:
                print(f"{title}: {contestant['name']}: {line['error']}", file=sys.stderr, flush=True)
                continue
            results[contestant["name"]].append(line)
            print(
                f"{title}: {contestant['name']} {line['median_img_s']:.0f} img/s", file=sys.stderr, flush=True
            )
    return {"title": title, "ours": [c["name"] for c in contestants if c["ours"]], "runs": results}


def reference_speed(contest, medians):
    """The best peer; among our own only, the first row is held against each of the others."""
    others = [medians[n] for n in medians if n not in contest["ours"]]
    return max(others) if others else None


def table(contest):
    medians = {
        n: statistics.median(r["median_img_s"] for r in runs) for n, runs in contest["runs"].items() if runs
    }
    best_peer = reference_speed(contest, medians)
    lines = [
        f"### {contest['title']}",
        "",
        "| program | img/s median | min | max | step ms | load | ratio |",
        "|-|-|-|-|-|-|-|",
    ]
    first = next(iter(medians.values()), None)
    for name, median in medians.items():
        runs = contest["runs"][name]
        speeds = [r["median_img_s"] for r in runs]
        if best_peer is not None:
            ratio = (
                f"{median / best_peer:.2f}x the best peer"
                if name in contest["ours"]
                else f"{median / best_peer:.2f}"
            )
        else:
            ratio = f"first row is {first / median:.2f}x"
        step = statistics.median(r["step_ms_median"] for r in runs)
        load = max(r["load"] for r in runs)
        lines.append(
            f"| {name} | {median:.0f} | {min(speeds):.0f} | {max(speeds):.0f} | {step:.3f} | {load:.1f} | {ratio} |"
        )
    return "\n".join(lines)


def machine():
    model = next(
        (line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), ""
    )
    return {
        "date": time.strftime("%Y-%m-%d"), "cpu": model, "cpus": len(os.sched_getaffinity(0)),
        "system": platform.platform(),
    }  # fmt: skip


def versions(contests_done):
    found = {}
    for contest in contests_done:
        for runs in contest["runs"].values():
            for run in runs:
                found.update(run.get("versions", {}))
    return ", ".join(f"{k} {v}" for k, v in sorted(found.items()))


def main():
    options = parse()
    if not options.program.exists():
        sys.exit(
            f"{options.program} does not exist: build the target train_throughput first, or name it with --program"
        )
    done = [run_contest(title, contestants, options) for title, contestants in contests(options)]
    where = machine()
    print(f"{where['date']}, {where['cpu']}, {where['cpus']} CPUs. {versions(done)}. {options.rounds} rounds of "
          f"{options.seconds:g} s, malloc of the peers {'default' if options.default_malloc else 'tuned'}.\n")  # fmt: skip
    print("\n\n".join(table(contest) for contest in done))
    if options.json:
        temporary = options.json.with_suffix(".part")
        temporary.write_text(json.dumps({"machine": where, "contests": done}, indent=1) + "\n")
        os.replace(temporary, options.json)


if __name__ == "__main__":
    main()
