#!/usr/bin/env bash
# fuzz.sh SECONDS: builds libFuzzer's target with the preset `clang` and runs it for so long. What it finds is left in
# build/fuzz; an input that fails is replayed by `fuzz_pool FILE`.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p build/fuzz/inputs
cmake --preset clang >build/configure-clang.txt 2>&1 || {
    cat build/configure-clang.txt >&2
    exit 1
}
cmake --build --preset clang --target fuzz_pool
cd build/fuzz
../clang/parts/fuzz/fuzz_pool inputs -max_total_time="$1" -max_len=400 -len_control=0 -timeout=60 -rss_limit_mb=4096 \
    -verbosity=0 -print_final_stats=1
echo "== fuzz: $1 s without a finding"
