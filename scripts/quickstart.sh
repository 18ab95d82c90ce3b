#!/bin/sh
# From a clone to a trained network: installs what is missing, builds the library and the examples, trains a LeNet on
# Fashion-MNIST on two virtual devices. Arguments go to the example.
set -eu

cd "$(dirname "$0")/.."
# Idle OpenMP threads spin 300,000 rounds by default before they sleep, which starves the other device's threads when
# there are more threads than cores. libgomp reads this once, when it is loaded.
export GOMP_SPINCOUNT="${GOMP_SPINCOUNT:-5000}"

scripts/setup.sh
cmake --preset release -DNYALA_BUILD_TESTS=OFF
cmake --build --preset release --target lenet_fashion_mnist
exec build/release/examples/lenet_fashion_mnist "$@"
