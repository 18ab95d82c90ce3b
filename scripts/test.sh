#!/bin/sh
# Installs what is missing, builds the release preset with all tests, runs them, and ends with ctest's closing lines.
# Arguments go to ctest (scripts/test.sh -L unit). NYALA_PRESET names another preset, NYALA_CMAKE_FLAGS more flags of
# CMake, NYALA_JOBS the number of tests at a time (2).
set -eu

cd "$(dirname "$0")/.."
# ccache keeps what includes a precompiled header only when told so.
export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}"
preset="${NYALA_PRESET:-release}"
log="build/$preset/ctest.log"

scripts/setup.sh
# shellcheck disable=SC2086  # several flags
cmake --preset "$preset" -DNYALA_BUILD_TESTS=ON ${NYALA_CMAKE_FLAGS:-}
cmake --build --preset "$preset"

# A pipe into tee would hide ctest's status; it goes by way of a file.
status_file="build/$preset/ctest.status"
{
  status=0
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "${NYALA_JOBS:-2}" "$@" 2>&1 || status=$?
  echo "$status" >"$status_file"
} | tee "$log"
status=$(cat "$status_file")

skipped=$(sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) \.*\**Skipped.*/\1/p' "$log")
if [ -n "$skipped" ]; then
  echo
  echo "skipped tests:"
  echo "$skipped" | sed 's/^/  /'
else
  echo
  echo "skipped tests: none"
fi
# Once more at the very end, for whoever reads only the last lines.
grep -E '^[0-9]+% tests passed|^Total Test time' "$log" || true
exit "$status"
