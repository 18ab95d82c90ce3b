#!/usr/bin/env python3
"""What workers of unequal speed, and a slow network, come to by parameter servers.

parameter_rates.py BUILD [REPEATS = 3]: batches per second of `parameter_rates` under `nyala launch --ps`, medians. First
three workers of which one is five times slower (they pause in place of computing, so that the cores of this machine do not
matter): asynchronous training beside the sum of the workers' own rates, synchronous training with one backup worker beside
that of the two fast ones. Then, as root, one worker on another host than the server (network namespaces), whose links send
with a limit: what a step moves and takes beside what docs/parameter_server.md predicts, and beside the same without a limit.
"""
import json, pathlib, re, statistics, subprocess, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "network"))
import hosts  # noqa: E402

FAST, SLOW = 20, 100  # milliseconds per batch


def rate_of(text):
    found = re.search(r"([0-9.]+) batches per second", text)
    if not found:
        raise RuntimeError(text)
    return float(found.group(1))


def on_this_machine(build, workers, *options):
    command = [build / "tools/nyala", "launch", "--ps", "1", "--workers", str(workers), "--chief", "--", build / "benchmarks/parameter_rates",
               *options]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    return rate_of(done.stdout + done.stderr)


def median(repeats, measure):
    return statistics.median(measure() for _ in range(repeats))


def unequal_workers(build, repeats):
    all_three = f"{FAST},{FAST},{SLOW}"
    rates = {
        "one fast worker": median(repeats, lambda: on_this_machine(build, 1, "--pauses", FAST)),
        "one slow worker": median(repeats, lambda: on_this_machine(build, 1, "--pauses", SLOW, "--batches", 60)),
        "three, asynchronous": median(repeats, lambda: on_this_machine(build, 3, "--pauses", all_three, "--batches", 400)),
        "two fast ones, synchronous": median(repeats, lambda: on_this_machine(build, 2, "--pauses", FAST, "--synchronous")),
        "three, synchronous": median(repeats, lambda: on_this_machine(build, 3, "--pauses", all_three, "--synchronous", "--batches", 60)),
        "three, synchronous, one backup": median(repeats, lambda: on_this_machine(build, 3, "--pauses", all_three, "--synchronous",
                                                                                 "--backup", "1")),
    }
    for name, rate in rates.items():
        print(f"| {name} | {rate:.1f} |")
    own = 2 * rates["one fast worker"] + rates["one slow worker"]
    print(f"asynchronous: {rates['three, asynchronous'] / own:.2f} of the sum of the workers' own rates (wanted 0.8)")
    print(f"synchronous with a backup worker: "
          f"{rates['three, synchronous, one backup'] / rates['two fast ones, synchronous']:.2f} of two (wanted 0.9)")


def over_a_link(build, network, units, batches):
    """Batches per second of a worker on host 1, with chief and server on host 0."""
    addresses = {"chief": [f"{network.hosts[0].address}:2222"], "worker": [f"{network.hosts[1].address}:2223"],
                 "ps": [f"{network.hosts[0].address}:2224"]}
    processes = []
    for host, job in ((0, "ps"), (1, "worker"), (0, "chief")):
        config = json.dumps({"cluster": addresses, "task": {"type": job, "index": 0}})
        words = ["env", f"TF_CONFIG={config}", "NYALA_TOKEN=benchmark", "OMP_NUM_THREADS=1", build / "benchmarks/parameter_rates",
                 "--units", units, "--batches", batches]
        processes.append(subprocess.Popen(network.hosts[host].words(list(map(str, words))), stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT, text=True))
    text = processes[-1].communicate(timeout=600)[0]
    for process in processes[:-1]:
        process.communicate(timeout=60)
    return rate_of(text)


def slow_links(build, repeats):
    units = 100_000
    weights = 64 * units + units + units + 1
    megabytes = 4 * weights / 1e6
    with hosts.Network(2) as network:
        free = median(repeats, lambda: over_a_link(build, network, units, 30))
        print(f"{megabytes:.1f} MB of weights, no limit: {1000 / free:.1f} ms per step")
        for megabits in (8000, 2000, 800):
            for host in network.hosts:
                host.rate(f"{megabits}mbit")
            limited = median(repeats, lambda: over_a_link(build, network, units, 30))
            for host in network.hosts:
                host.rate(None)
            there_and_back = 2 * 1000 * megabytes / (megabits / 8)
            print(f"{megabits / 8:.0f} MB/s: {1000 / limited:.1f} ms per step, the link alone {there_and_back:.1f} ms")


if __name__ == "__main__":
    build, repeats = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    if "--links" in sys.argv:
        hosts.isolated()
        slow_links(build, repeats)
        sys.exit(0)
    unequal_workers(build, repeats)
    subprocess.run([sys.executable, __file__, str(build), str(repeats), "--links"], check=False)
