#!/bin/sh
# Builds Nyala as shared libraries in build/shared, installs them into a temporary folder, and runs against them a
# program and a host that opens and closes a plugin. Not part of .ci/run: it compiles the libraries once more.
set -eu

cd "$(dirname "$0")/.."
folder=$(mktemp -d "${TMPDIR:-/tmp}/nyala-shared.XXXXXX")
trap 'rm -rf "$folder"' EXIT INT TERM

cmake -S . -B build/shared -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DNYALA_BUILD_TESTS=OFF \
  -DNYALA_BUILD_EXAMPLES=OFF
cmake --build build/shared
cmake --install build/shared --prefix "$folder/prefix" > /dev/null
"$folder/prefix/bin/nyala" info
for project in project plugin; do
  cmake -S "tests/install/$project" -B "$folder/$project" -G Ninja -DCMAKE_PREFIX_PATH="$folder/prefix" \
    -DEXPECTED_VERSION=0.1
  cmake --build "$folder/$project"
done
"$folder/project/outside"
for devices in 1 2; do "$folder/plugin/host" "$folder"/plugin/libplugin.so $devices; done
