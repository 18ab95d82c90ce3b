#!/bin/sh
# The promise over processes in all layouts (2x1, 3x1, 4x1, 2x2; shared memory and Gloo), and what else trains over
# processes: minutes. CI runs part of it.
set -e
cd "$(dirname "$0")/.."
preset=${NYALA_PRESET:-release}
cmake --preset "$preset"
cmake --build --preset "$preset" --target conformance_strategies conformance_communicators test_tools
cd "build/$preset/tests"
NYALA_ALL_LAYOUTS=1 ./conformance_strategies --gtest_filter='*OverProcesses*:*OverMoreProcesses*'
./conformance_communicators
./test_tools --gtest_filter='Launch*:ToolLaunch*'
