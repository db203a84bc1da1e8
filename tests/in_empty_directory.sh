#!/usr/bin/env bash
# in_empty_directory.sh COMMAND...: runs the command in an empty directory that is removed afterwards.
set -euo pipefail
directory=$(mktemp -d "$PWD/empty-XXXXXX")
trap 'rm -rf "$directory"' EXIT
cd "$directory"
"$@"
