#!/usr/bin/env bash
# stage.sh PRESET [TEST_PRESET]: configures and builds with PRESET, runs TEST_PRESET when one is
# given, and says how long each took, what took longest, and which test cases were skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p build
preset=$1
# These make a part of the release build, where it stands.
directory=$preset
case $preset in run | build | rig | soak) directory=release ;; esac
jobs=$(nproc)

began=$SECONDS
began_at=$(date +%s)
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
    python3 -B cmake/stage_report.py "build/$directory" "$began_at"
fi
