#!/usr/bin/env bash
# stage.sh PRESET [TEST_PRESET]: configures and builds with PRESET, runs TEST_PRESET when one is
# given, and says how long each took.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p build
preset=$1
jobs=$(nproc)

began=$SECONDS
cmake --preset "$preset" >"build/configure-$preset.txt" 2>&1 || {
    cat "build/configure-$preset.txt" >&2
    exit 1
}
cmake --build --preset "$preset" --parallel "$jobs"
echo "== $preset: built in $((SECONDS - began)) s"

if [[ $# -ge 2 ]]; then
    began=$SECONDS
    ctest --preset "$2" --parallel "$jobs"
    echo "== $preset: tests passed in $((SECONDS - began)) s"
fi
