#!/usr/bin/env bash
# outside_test.sh EXAMPLE BUILD_DIRECTORY: follows the example's README in an empty directory outside the repository:
# its first block of commands, and the block of text behind it as what the last of them prints.
set -euo pipefail
# The make that started the tests is none of the business of the one below.
unset MAKEFLAGS MAKELEVEL MFLAGS
example=$1
export build=$2
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
prefix=$scratch/prefix
CXX=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
export source prefix CXX
trap 'rm -rf "$scratch"' EXIT

# block KIND: the first block of that kind in the README.
block() { awk -v begin="\`\`\`$1" '$0 == "```" && inside { exit } inside { print } $0 == begin { inside = 1 }' \
    "$here/$example/README.md"; }

block sh >"$scratch/commands.sh"
block text >"$scratch/expected.txt"
mkdir "$scratch/elsewhere"
cd "$scratch/elsewhere"
if [[ $(wc -l <"$scratch/commands.sh") -lt 3 ]]; then
    echo "the README has no commands" >&2
    exit 1
fi
# All but the last line build; it runs.
head -n -1 "$scratch/commands.sh" >"$scratch/build.sh"
bash -e "$scratch/build.sh" >"$scratch/built.txt" 2>&1 || { cat "$scratch/built.txt" >&2; exit 1; }
bash -e <(tail -n 1 "$scratch/commands.sh") >"$scratch/printed.txt"
diff "$scratch/expected.txt" "$scratch/printed.txt"
echo "$example is built outside the tree as its README says, and prints what it says"
