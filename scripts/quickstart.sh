#!/bin/sh
# From a clone to a trained network: installs what is missing, builds the library and the examples, trains a LeNet on
# Fashion-MNIST on two virtual devices. Arguments go to the example.
set -eu

cd "$(dirname "$0")/.."
scripts/setup.sh
cmake --preset release -DNYALA_BUILD_TESTS=OFF
cmake --build --preset release --target lenet_fashion_mnist
exec build/release/examples/lenet_fashion_mnist "$@"
