#!/bin/sh
# Faults of processes and networks under trainings of several hosts, over TCP: hosts are network namespaces of this
# machine (as root, or where users may make namespaces). Prints the table of faults, a quarter of an hour. Arguments
# are names of faults (tests/network/faults.py --list), "launch" or "by hand". Faults that need nft (Debian: nftables) or
# tc (iproute2) are skipped where these are missing, and say so in their rows; CI's need neither.
set -e
cd "$(dirname "$0")/.."
preset=${NYALA_PRESET:-release}
cmake --preset "$preset" -DNYALA_BUILD_TESTS=ON
cmake --build --preset "$preset" --target program_network_worker nyala_command
exec python3 tests/network/faults.py "build/$preset" "$@"
