#!/bin/sh
# Builds and tests against oneDNN 3.2 (the wheels that PyPI has) instead of the 2.6.3 of Debian 12. Needs python3 with
# venv; everything but the build tree build/onednn3 lies in a temporary folder. Not part of .ci/run.
# Arguments go to ctest.
set -eu

cd "$(dirname "$0")/.."
scripts/setup.sh

venv=$(mktemp -d "${TMPDIR:-/tmp}/nyala-onednn3.XXXXXX")
trap 'rm -rf "$venv"' EXIT INT TERM
python3 -m venv "$venv"
"$venv/bin/pip" --quiet install 'onednn-devel-cpu-gomp==2023.2.*' 'onednn-cpu-gomp==2023.2.*'

cmake --preset release -B build/onednn3 -DCMAKE_PREFIX_PATH="$venv" -Ddnnl_DIR="$venv/lib/cmake/dnnl"
cmake --build build/onednn3
LD_LIBRARY_PATH="$venv/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
  ctest --test-dir build/onednn3 --output-on-failure --no-tests=error -j "${NYALA_JOBS:-2}" "$@"
