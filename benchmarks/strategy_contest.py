"""What compare.py --strategies runs: the same global batch on one device, on several and on peers' several devices."""

import statistics

from contest import BATCH, highest_load, medians, ours, peer, speeds

ONE_BY_ONE = "1 device, 1 thread"
ONE_BY_TWO = "1 device, 2 threads"
TWO_BY_ONE = "Mirrored, 2 devices x 1 thread"
FOUR = "Mirrored, 4 devices x 1 thread"
EIGHT = "Mirrored, 8 devices x 1 thread"
CENTRAL = "CentralStorage, 2 devices x 1 thread"
PROCESSES = "MultiWorkerMirrored, 2 processes x 1 thread"
OVER_GLOO = "MultiWorkerMirrored, 2 processes x 1 thread, Gloo"
TENSORFLOW = {"graph": "TensorFlow Mirrored, 2 CPUs (fit)", "step": "TensorFlow Mirrored, 2 CPUs (run)"}
DDP = {"none": "PyTorch DDP, 2 processes", "default": "PyTorch DDP, 2 processes (compiled)"}

# What, of what (the fastest of several), at least (None: told, not judged).
RATIOS = [
    (TWO_BY_ONE, [ONE_BY_TWO], {"lenet": 0.98, "resnet20": 0.98}),
    (TWO_BY_ONE, [ONE_BY_ONE], {"lenet": 1.80, "resnet20": 1.80}),
    (FOUR, [TWO_BY_ONE], {"lenet": 0.93, "resnet20": 0.93}),
    (EIGHT, [TWO_BY_ONE], {"lenet": 0.93, "resnet20": 0.93}),
    (CENTRAL, [TWO_BY_ONE], {"lenet": 0.95, "resnet20": 0.95}),
    (TWO_BY_ONE, list(TENSORFLOW.values()), {"lenet": 1.3, "resnet20": 1.3}),
    (TWO_BY_ONE, list(DDP.values()), {"lenet": 1.3, "resnet20": 1.05}),
    (PROCESSES, [TWO_BY_ONE], {"resnet20": 0.97}),
    (PROCESSES, list(DDP.values()), {"lenet": 1.5, "resnet20": 1.2}),
    (OVER_GLOO, list(DDP.values()), {"resnet20": 1.05}),
]


def contestants(options, model):
    def nyala(label, devices, threads, strategy, **more):
        return ours(
            options, label, model, batch=BATCH[model], devices=devices, threads=threads, strategy=strategy, **more
        )

    result = [
        nyala(TWO_BY_ONE, 2, 1, "mirrored"),
        nyala(ONE_BY_TWO, 1, 2, "none"),
        nyala(ONE_BY_ONE, 1, 1, "none"),
        nyala(FOUR, 4, 1, "mirrored"),
        nyala(EIGHT, 8, 1, "mirrored"),
        nyala(CENTRAL, 2, 1, "central_storage"),
    ]
    if options.nyala:
        result.append(nyala(PROCESSES, 1, 1, "multi_worker", processes=2))
        result.append(nyala(OVER_GLOO, 1, 1, "multi_worker", processes=2, implementation="gloo"))
    devices = ("--devices", "2", "--threads")
    if options.keras_python:
        for mode, label in TENSORFLOW.items():
            arguments = (*devices, "2", "--compile", mode)
            result.append(peer(options, options.keras_python, "keras_train.py", label, model, *arguments))
    if options.torch_python:
        for mode, label in DDP.items():
            if mode == "none" or options.compiled_ddp:
                arguments = (*devices, "1", "--compile", mode)
                result.append(peer(options, options.torch_python, "torch_train.py", label, model, *arguments))
    if options.only:
        result = [one for one in result if any(part in one["name"] for part in options.only)]
    return result


def ratio(contest, name, of):
    """Median, lowest and highest ratio within one round (runs of a round are neighbours in time, so what disturbs the
    machine disturbs both); None where nothing ran."""
    middle = medians(contest)
    of = [other for other in of if other in middle]
    if name not in middle or not of:
        return None
    best = max(of, key=middle.get)
    rounds = {run["round"]: run["median_img_s"] for run in contest["runs"][best]}
    paired = [
        run["median_img_s"] / rounds[run["round"]] for run in contest["runs"][name] if run["round"] in rounds
    ]
    if not paired:
        return None
    return {"of": best, "ratio": statistics.median(paired), "lowest": min(paired), "highest": max(paired)}


def ratios(contest, model):
    found = []
    for name, of, wanted in RATIOS:
        result = ratio(contest, name, of)
        if result:
            found.append({"what": name, **result, "wanted": wanted.get(model)})
    return found


def ratio_table(found):
    lines = ["| ratio | median of rounds | lowest to highest | wanted | |", "|-|-|-|-|-|"]
    for row in found:
        wanted, verdict = "", ""
        if row["wanted"]:
            wanted = f">= {row['wanted']:.2f}"
            verdict = "met" if row["ratio"] >= row["wanted"] else "MISSED"
        within = f"{row['lowest']:.3f} to {row['highest']:.3f}"
        lines.append(f"| {row['what']} / {row['of']} | {row['ratio']:.3f} | {within} | {wanted} | {verdict} |")
    return "\n".join(lines)


def speed_table(contest):
    lines = [
        "| program | img/s median | min | max | step ms | load | CPUs others used |",
        "|-|-|-|-|-|-|-|",
    ]
    for name, median in medians(contest).items():
        runs = contest["runs"][name]
        step = statistics.median(run["step_ms_median"] for run in runs)
        others = max(run["others"] for run in runs)
        lines.append(
            f"| {name} | {median:.0f} | {min(speeds(runs)):.0f} | {max(speeds(runs)):.0f} "
            f"| {step:.3f} | {highest_load(runs):.1f} | {others:.2f} |"
        )
    return "\n".join(lines)
