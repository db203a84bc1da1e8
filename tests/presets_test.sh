#!/usr/bin/env bash
# The presets of `make run` and `make build`, which have no tests, can be configured: all others have them.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for preset in run build; do
    if ! cmake --preset "$preset" -B "$scratch/$preset" -DHOLDFAST_COMMAND_DIRECTORY="$scratch/$preset/command" \
        >"$scratch/said" 2>&1; then
        echo "presets_test: preset $preset: expected that it can be configured, found:" >&2
        cat "$scratch/said" >&2
        exit 1
    fi
done
