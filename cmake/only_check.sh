#!/usr/bin/env bash
# only_check.sh COMPILER ARGUMENTS...: runs clang for its warnings alone, on what will never be linked. It generates no
# code, which is half of its work. A line of text stands where the object would.
set -euo pipefail
"$@" -fsyntax-only
while [[ $# -gt 1 ]]; do
    [[ $1 != -o ]] || echo "checked, not compiled" >"$2"
    shift
done
