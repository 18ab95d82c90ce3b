"""What both peers share: arguments, the measuring loop and the JSON line."""

import argparse
import json
import os
import statistics
import time

DEFAULT_BATCH = {
    "lenet5": 256, "lenet": 256, "resnet20": 128, "mlp": 128, "lstm": 64, "transformer": 32,
    "resnet18": 64, "resnet50": 16, "mobilenet_v2": 16, "xception": 8}  # fmt: skip
INPUTS = {
    "lenet5": (28, 28, 1), "lenet": (28, 28, 1), "resnet20": (32, 32, 3), "mlp": (784,), "lstm": (100, 128),
    "transformer": (128, 256), "resnet18": (28, 28, 1), "resnet50": (224, 224, 3), "mobilenet_v2": (224, 224, 3),
    "xception": (299, 299, 3)}  # fmt: skip
CLASSES = {"resnet50": 1000, "mobilenet_v2": 1000, "xception": 1000}
LEARNING_RATE = 0.01
MOMENTUM = 0.9


def arguments(description, modes):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", choices=sorted(DEFAULT_BATCH), required=True)
    parser.add_argument(
        "--batch",
        type=int,
        help="rows per step; default: the model's, as in train_throughput",
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--devices", type=int, default=1,
        help="that share the batch: processes with --threads each (PyTorch), logical CPUs of one process (Keras)",
    )  # fmt: skip
    parser.add_argument(
        "--steps", type=int, default=0, help="steps per timed block; 0: about --seconds / 10 of work"
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="time measured, in about ten blocks")
    parser.add_argument("--compile", choices=modes, default=modes[0])
    parser.add_argument(
        "--latency", action="store_true", help="batch 1, one thread: the time of one step is what counts"
    )
    parser.add_argument(
        "--dtype", choices=["float32", "mixed_bfloat16", "mixed_float16"], default="float32", help="Keras' dtype policy"
    )
    parser.add_argument("--inference", action="store_true", help="forward only, in inference mode")
    options = parser.parse_args()
    if options.latency:
        options.batch, options.threads = 1, 1
    options.batch = options.batch or DEFAULT_BATCH[options.model]
    if options.batch % options.devices:
        parser.error(f"a batch of {options.batch} rows has no equal parts for {options.devices} devices")
    return options


def classes(options):
    return CLASSES.get(options.model, 10)


def memory(what):
    """ "VmRSS" or "VmHWM" of this process in MB."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(what + ":"))


def limit_threads(threads):
    """Must run before the framework is imported: the math libraries read these variables when they load."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def steps_per_block(options, run_steps):
    """Warm up (compilers included), then the number of steps that fills a tenth of the time."""
    run_steps(3)
    start = time.perf_counter()
    run_steps(3)
    one = (time.perf_counter() - start) / 3
    count = options.steps or max(3, int(options.seconds / 10 / one))
    run_steps(min(count, max(3, int(1.0 / one))))
    return count


def measure(options, run_steps):
    """run_steps(n) trains n steps and returns when the last one is done. Result: seconds per step, one per block."""
    count = steps_per_block(options, run_steps)
    times, options.cpu_times = [], []
    begin = time.perf_counter()
    while not times or time.perf_counter() - begin < options.seconds:
        start, cpu_start = time.perf_counter(), time.process_time()
        run_steps(count)
        times.append((time.perf_counter() - start) / count)
        options.cpu_times.append((time.process_time() - cpu_start) / count)
    return times, count


def report(program, options, times, count, versions):
    """`options.memory_before`: memory("VmRSS") before the model was built."""
    median, best = statistics.median(times), min(times)
    line = {
        "program": program,
        "model": options.model,
        "batch": options.batch,
        "devices": options.devices,
        "threads": options.threads,
        "dtype": options.dtype,
        "mode": "inference" if options.inference else "training",
        "peak_mb": round(memory("VmHWM") - options.memory_before),
        "median_img_s": round(options.batch / median, 1),
        "best_img_s": round(options.batch / best, 1),
        "step_ms_median": round(median * 1e3, 4),
        "step_cpu_ms_median": round(statistics.median(options.cpu_times) * 1e3, 4),
        "step_ms_best": round(best * 1e3, 4),
        "blocks": len(times),
        "steps_per_block": count,
        "load": round(os.getloadavg()[0], 2),
        "versions": versions,
        "malloc": "tuned" if "MALLOC_TOP_PAD_" in os.environ else "default",
    }
    print(json.dumps(line), flush=True)
