#!/bin/sh
# Runs the fuzz targets of tests/fuzz with libFuzzer, the address and the undefined-behaviour sanitizers:
#   scripts/fuzz.sh [seconds for each, 60] [target...]
# The readers (files, api/saving without config, pickles, pictures) and the targets are compiled by clang, the rest is the release build's. What is found
# lies in build/fuzz/<target>-*, new inputs in build/fuzz/corpus. Needs clang 16 or later with libFuzzer (Debian:
# clang-16 and libclang-rt-16-dev); CLANGXX names another one.
# NYALA_FUZZ_RUNS ends a target after so many executions, NYALA_FUZZ_LENGTH limits inputs (65536 bytes).
set -eu

cd "$(dirname "$0")/.."
seconds="${1:-60}"
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- $(cd tests/fuzz && ls ./*_fuzzer.cpp | sed 's|^./||; s|_fuzzer.cpp$||')

CXX="${CLANGXX:-clang++-16}"
command -v "$CXX" >/dev/null || { echo "fuzz.sh: $CXX is not installed" >&2; exit 2; }
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
build=build/release
out=build/fuzz
[ -n "${NYALA_FUZZ_SKIP_RELEASE:-}" ] || { cmake --preset release >/dev/null && cmake --build "$build" --target nyala_models; }

sanitize="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
flags="-std=c++20 -O1 -g1 -DNDEBUG -I$build/include $(pkg-config --cflags hdf5) $sanitize"
mkdir -p "$out/objects" "$out/corpus"
for source in $(find files api/saving -name '*.cpp' -not -path '*/config/*') \
  $(ls datasets/io/pickle*.cpp datasets/image/decode_image.cpp datasets/image/image_bytes.cpp tests/fuzz/*_fuzzer.cpp); do
  object="$out/objects/$(echo "$source" | tr / _).o"
  # Headers are not followed: remove build/fuzz after changes in them.
  [ "$object" -nt "$source" ] || echo "$object $source"
done | xargs -r -L 1 -P "${NYALA_JOBS:-2}" sh -c '"$0" '"$flags"' -fsanitize=fuzzer-no-link -c "$2" -o "$1"' "$CXX"

readers=$(ls "$out"/objects/files_*.o "$out"/objects/api_saving_*.o "$out"/objects/datasets_*.o)
libraries=$(ls "$build"/libnyala_models.a 2>/dev/null || true)
for name in api strategies datasets files backend; do libraries="$libraries $build/libnyala_$name.a"; done
status=0
for target in "$@"; do
  "$CXX" -fsanitize=fuzzer,address,undefined "$out/objects/tests_fuzz_${target}_fuzzer.cpp.o" $readers \
    -Wl,--start-group $libraries -Wl,--end-group $(pkg-config --libs hdf5) -ldnnl -lz -lcurl -lspdlog -lfmt -lgomp \
    -lpthread -ldl -o "$out/$target"
  mkdir -p "$out/corpus/$target"
  echo "== $target"
  "$out/$target" -max_total_time="$seconds" -runs="${NYALA_FUZZ_RUNS:--1}" -timeout=20 -rss_limit_mb=1024 -max_len="${NYALA_FUZZ_LENGTH:-65536}" \
    -artifact_prefix="$out/$target-" -print_final_stats=1 -verbosity=0 "$out/corpus/$target" "tests/fuzz/corpus/$target" || status=1
done
exit "$status"
