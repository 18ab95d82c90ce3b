#!/usr/bin/env python3
"""Runs train_throughput and its peers interleaved (A B C A B C ...) and prints how they compare.

    python3 benchmarks/compare.py --torch-python ~/torch-venv/bin/python --keras-python ~/keras-venv/bin/python
    python3 benchmarks/compare.py --strategies --nyala build/release/tools/nyala --torch-python ... --keras-python ...

Peers run with glibc told to keep freed memory (untuned, page faults cost PyTorch a third or more of its speed),
ours as it is. Every program is a process of its own, one at a time. The ratio is our
median over the best peer's median (of peak memory: over the leanest peer's); a machine that is not quiet shows in
the load column. With --strategies it is about replicas: the same global batch on one device, on several, under
every strategy and on the peers' devices.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True

import strategy_contest  # noqa: E402
from contest import BATCH, ROOT, highest_load, machine, medians, ours, peer, run_contest, speeds, versions  # noqa: E402


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--models", nargs="+", choices=list(BATCH), help="default: all; lenet and resnet20 for --strategies"
    )
    parser.add_argument(
        "--dtype", choices=["float32", "mixed_bfloat16", "mixed_float16"], default="float32",
        help="Keras' dtype policy for all: ours, Keras', and PyTorch under autocast",
    )  # fmt: skip
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
    parser.add_argument("--inference", action="store_true", help="also: forward only, by predict")
    parser.add_argument(
        "--recompute", action="store_true", help="also: ours with recompute_batch_normalization, training"
    )
    parser.add_argument("--eager-only", action="store_true", help="without torch.compile, which takes long to start")
    parser.add_argument("--strategies", action="store_true", help="instead: one device, several, peers' devices")
    parser.add_argument("--nyala", type=pathlib.Path, help="--strategies: the nyala command, for several processes")
    parser.add_argument("--only", nargs="+", help="--strategies: only contestants whose names contain one of these")
    parser.add_argument("--compiled-ddp", action="store_true", help="--strategies: also DDP under torch.compile")
    parser.add_argument("--default-malloc", action="store_true", help="leave malloc of the peers alone")
    parser.add_argument(
        "--max-load", type=float, default=0.5, help="wait for a load average below this, 0: never"
    )
    parser.add_argument("--json", type=pathlib.Path, help="write all lines here")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one run")
    options = parser.parse_args()
    options.models = options.models or (["lenet", "resnet20"] if options.strategies else list(BATCH))
    return options


def peers(options, model, *extra, keras_modes):
    result = []
    extra = (*extra, "--dtype", options.dtype)
    if options.torch_python:
        for mode in ("none",) if options.eager_only else ("none", "default"):
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
    """(title, model, mode, contestants): what is compared with what."""
    threads = ("--threads", str(options.threads))
    for model in options.models:
        if options.strategies:
            title = f"{model}, global batch {BATCH[model]}, strategies"
            yield title, model, "strategies", strategy_contest.contestants(options, model)
            continue
        for mode in ("training", "inference") if options.inference else ("training",):
            chosen = {"inference": True} if mode == "inference" else {}
            common = {"threads": options.threads, "dtype": options.dtype}
            contest = [ours(options, "Nyala", model, batch=BATCH[model], devices=1, **common, **chosen)]
            if options.recompute and not chosen:
                contest += [ours(options, "Nyala, recomputing", model, recompute="always", **common)]
            flags = [*threads, "--inference"] if chosen else threads
            title = f"{model}, {mode}, {options.dtype}, batch {BATCH[model]}, {options.threads} threads"
            yield title, model, mode, contest + peers(options, model, *flags, keras_modes=["graph"])
    if options.latency:
        contest = [ours(options, "Nyala", "lenet5", batch=1, threads=1, devices=1, dtype=options.dtype)]
        yield "lenet5, one step, batch 1, 1 thread", "lenet5", "latency", contest + peers(
            options, "lenet5", "--latency", keras_modes=["step", "xla", "batch"]
        )


def peak_memory(runs):
    """Peak of the resident memory above what the process had before the model was built, MB."""
    return statistics.median(r["peak_mb"] for r in runs)


def ratio(contest, figures, best):
    """Our figure over the best peer's, or None."""
    mine = [figures[n] for n in figures if n in contest["ours"]]
    others = [figures[n] for n in figures if n not in contest["ours"]]
    return mine[0] / best(others) if mine and others else None


def summary(done):
    """One row per model: the ratios of speed in training and inference and of peak memory in training."""
    rows = {}
    for contest in done:
        row = rows.setdefault(contest["model"], {})
        row[contest["mode"]] = ratio(contest, medians(contest), max)
        if contest["mode"] == "training":
            memory = {name: peak_memory(runs) for name, runs in contest["runs"].items() if runs}
            row["memory"] = ratio(contest, memory, min)
    columns = ("training", "inference", "memory")
    lines = ["| model | training / best peer | inference / best peer | memory / leanest peer |", "|-|-|-|-|"]
    for model, row in rows.items():
        cells = [f"{row[c]:.2f}x" if row.get(c) else "" for c in columns]
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def table(contest):
    middle = medians(contest)
    best_peer = max((middle[n] for n in middle if n not in contest["ours"]), default=None)
    lines = ["| program | img/s median | min | max | step ms | peak MB | load | ratio |", "|-|-|-|-|-|-|-|-|"]
    for name, median in middle.items():
        runs = contest["runs"][name]
        ratio = ""
        if best_peer is not None:
            ratio = f"{median / best_peer:.2f}" + ("x the best peer" if name in contest["ours"] else "")
        step = statistics.median(r["step_ms_median"] for r in runs)
        lines.append(
            f"| {name} | {median:.1f} | {min(speeds(runs)):.1f} | {max(speeds(runs)):.1f} "
            f"| {step:.3f} | {peak_memory(runs):.0f} | {highest_load(runs):.1f} | {ratio} |"
        )
    return "\n".join(lines)


def print_contest(contest):
    print(f"\n### {contest['title']}\n")
    if "ratios" not in contest:
        return print(table(contest), flush=True)
    print(strategy_contest.speed_table(contest), "\n")
    print(strategy_contest.ratio_table(contest["ratios"]), flush=True)


def main():
    options = parse()
    if not options.program.exists():
        sys.exit(
            f"{options.program} does not exist: build the target train_throughput first, or name it with --program"
        )
    where, done = machine(), []
    for title, model, mode, contestants in contests(options):
        done.append({**run_contest(title, contestants, options), "model": model, "mode": mode})
        if options.strategies:
            done[-1]["ratios"] = strategy_contest.ratios(done[-1], model)
    malloc = "default" if options.default_malloc else "tuned"
    print(f"{where['date']}, {where['cpu']}, {where['cpus']} CPUs. {versions(done)}. {options.rounds} rounds of "
          f"{options.seconds:g} s, malloc of the peers {malloc}, load average {where['load'][0]} before.")  # fmt: skip
    for contest in done:
        print_contest(contest)
    if not options.strategies:
        print("\n### Ratios\n\n" + summary(done), flush=True)
    if options.json:
        temporary = options.json.with_suffix(".part")
        temporary.write_text(json.dumps({"machine": where, "contests": done}, indent=1) + "\n")
        os.replace(temporary, options.json)


if __name__ == "__main__":
    main()
