"""Programs of which each is a process of its own, run in turn (A B C A B C ...), and what they printed."""

import json
import os
import pathlib
import platform
import re
import resource
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
RANK = re.compile(r"^\[\d+\] ")  # what nyala launch puts in front of lines
OPENMP_WAITING = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")  # everybody runs as users do, without them
BATCH = {
    "lenet5": 256, "lenet": 256, "resnet20": 128, "mlp": 128, "lstm": 64, "transformer": 32,
    "resnet18": 64, "resnet50": 16, "mobilenet_v2": 16, "xception": 8}  # fmt: skip


def ours(options, label, model, processes=1, **arguments):
    """A contestant: name, command, environment."""
    command = [str(options.program), "--model", model, "--seconds", str(options.seconds)]
    if processes > 1:
        command = [str(options.nyala), "launch", "-n", str(processes), "--"] + command
    for key, value in arguments.items():
        command += [f"--{key}"] if value is True else [f"--{key}", str(value)]
    return {"name": label, "ours": True, "command": command, "environment": {}}


def peer(options, python, script, label, model, *arguments):
    command = [str(python), "-B", str(PEERS / script), "--model", model, "--seconds", str(options.seconds)]
    environment = {} if options.default_malloc else TUNED_MALLOC
    return {"name": label, "ours": False, "command": command + list(arguments), "environment": environment}


def wait_until_quiet(limit):
    """Load decays slowly after our own runs, so look at what runs now: the fourth field of /proc/loadavg."""
    give_up = time.time() + 30
    while limit and time.time() < give_up:
        running = [
            int(pathlib.Path("/proc/loadavg").read_text().split()[3].split("/")[0])
            for _ in range(5)
            if not time.sleep(0.1)
        ]
        if statistics.mean(running) - 1 <= limit:
            return
        time.sleep(2)


def busy_seconds():
    """CPU seconds of the whole machine, time taken by other guests of its host included, and those of our children."""
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    user, nice, system, _, _, irq, softirq, steal = fields
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    machine = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return machine, children.ru_utime + children.ru_stime


def run_once(contestant, timeout):
    """The JSON line of one run, with what other programs took of the CPUs meanwhile ("others"), or {"error": ...}."""
    environment = {k: v for k, v in os.environ.items() if k not in TUNED_MALLOC and k not in OPENMP_WAITING}
    environment.update(contestant["environment"])
    start, (machine, children) = time.time(), busy_seconds()
    try:
        done = subprocess.run(
            contestant["command"], env=environment, capture_output=True, text=True, timeout=timeout
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"error": str(error)}
    printed = (RANK.sub("", line) for line in done.stdout.splitlines())
    lines = [json.loads(line) for line in printed if line.startswith("{")]
    if done.returncode or not lines:
        return {"error": f"exit status {done.returncode}: {done.stderr.strip()[-300:]}"}
    seconds, (machine_now, children_now) = time.time() - start, busy_seconds()
    others = max(0.0, machine_now - machine - (children_now - children)) / seconds
    return {**lines[-1], "others": round(others, 2), "wall_s": round(seconds, 1)}


def run_contest(title, contestants, options):
    """{"title", "ours": names, "runs": {name: lines}}; a run that failed is told on stderr and left out."""
    results = {c["name"]: [] for c in contestants}
    for round_number in range(options.rounds):
        for contestant in contestants:
            wait_until_quiet(options.max_load)
            line = run_once(contestant, options.timeout)
            if "error" in line:
                print(f"{title}: {contestant['name']}: {line['error']}", file=sys.stderr, flush=True)
                continue
            results[contestant["name"]].append({**line, "round": round_number})
            print(
                f"{title}: {contestant['name']} {line['median_img_s']:.1f} img/s", file=sys.stderr, flush=True
            )
    return {"title": title, "ours": [c["name"] for c in contestants if c["ours"]], "runs": results}


def speeds(runs):
    return [run["median_img_s"] for run in runs]


def medians(contest):
    return {name: statistics.median(speeds(runs)) for name, runs in contest["runs"].items() if runs}


def highest_load(runs):
    loads = [run["load"] for run in runs]
    return max(max(load) if isinstance(load, list) else load for load in loads)


def machine():
    model = next(
        (line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), ""
    )
    return {
        "date": time.strftime("%Y-%m-%d"), "cpu": model, "cpus": len(os.sched_getaffinity(0)),
        "system": platform.platform(), "load": [round(load, 2) for load in os.getloadavg()],
    }  # fmt: skip


def versions(contests_done):
    found = {}
    for contest in contests_done:
        for runs in contest["runs"].values():
            for run in runs:
                found.update(run.get("versions", {}))
    return ", ".join(f"{k} {v}" for k, v in sorted(found.items()))
