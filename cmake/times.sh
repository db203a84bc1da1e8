#!/usr/bin/env bash
# times.sh: what one waits for, measured on a clean clone of the last commit, without a compiler cache: a table on the
# terminal and in build/times.txt. Takes as long as all of it together.
set -euo pipefail
cd "$(dirname "$0")/.."
export CCACHE_DISABLE=1
mkdir -p build
table=$PWD/build/times.txt
clone=$(mktemp -d build/times-XXXXXX)
trap 'rm -rf "$clone"' EXIT
git clone --quiet --no-local . "$clone"
cd "$clone"
: >"$table"

# timed WHAT COMMAND...: runs it and adds a row.
timed() {
    local what=$1 began=$SECONDS
    shift
    "$@" >"$table.log" 2>&1 || {
        tail -50 "$table.log" >&2
        exit 1
    }
    printf '| %-50s | %3d min %02d s |\n' "$what" $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60)) | tee -a "$table"
}

one_edit() {
    echo "// edited" >>holdfast/engine/redo.cpp
    cmake --build build/release --target test_engine_transaction
    ctest --test-dir build/release -R '^engine.transaction$'
}

timed "make run, from nothing" make run
rm -rf build
timed "make build, from nothing" make build
rm -rf build
timed "make test, from nothing" make test
grep '^== ' "$table.log" | sed 's/.*/|   &/' | tee -a "$table"
timed "redo.cpp edited, until its tests are green" one_edit
rm -f "$table.log"
