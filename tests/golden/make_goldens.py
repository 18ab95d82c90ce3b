#!/usr/bin/env python3
"""Writes the golden data of the tests with the real Keras (TensorFlow backend, float32, CPU).

    python make_goldens.py --seed N --out DIR [--only AREA ...]

The same seed and versions give the same bytes. README.md beside this file says what to install.
"""

import argparse
import importlib
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from areas import common  # noqa: E402

AREAS = [
    "activations",
    "adapt",
    "augmentation",
    "augmentation_layers",
    "images",
    "initializers",
    "losses",
    "metrics",
    "schedules",
    "optimizers",
    "wrapped_optimizers",
    "constraints",
    "regularizers",
    "layers",
    "recurrent",
    "shared_lstm",
    "custom_objects",
    "legacy_hard_sigmoid",
    "own_optimizers",
    "graphs",
    "ops",
    "op_values",
    "lookups",
    "lora",
    "fit",
    "weights_files",
    "model_files",
    "layer_models",
    "mixed_precision",
    "defaults",
    "console",
]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument(
        "--only", nargs="+", choices=AREAS, default=AREAS, metavar="AREA", help=", ".join(AREAS)
    )
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    common.configure_keras()
    for area in arguments.only:
        start = time.time()
        common.reset(arguments.seed)
        importlib.import_module(f"areas.{area}").generate(arguments.seed, arguments.out)
        print(f"{area}: {time.time() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
