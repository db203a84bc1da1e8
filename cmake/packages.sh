#!/usr/bin/env bash
# Installs the packages of packages.txt that are missing. Does nothing when all are there; says what
# to type when it may not install. Runs before there is a compiler: needs only what every Debian has.
set -euo pipefail

list="$(dirname "$0")/../packages.txt"
mapfile -t wanted < <(sed -e 's/#.*//' -e 's/^[[:space:]]*//' -e 's/[[:space:]].*//' -e '/^$/d' "$list")

if ! command -v dpkg-query >/dev/null; then
    echo "packages.sh: this is not a Debian system; going on in the hope that these are here: ${wanted[*]}" >&2
    exit 0
fi

# dpkg-query fails when it does not know a name; what matters is which names it calls installed.
installed=" $(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
    sed -n 's/^installed //p' | tr '\n' ' ') " || true
missing=()
for name in "${wanted[@]}"; do
    [[ $installed == *" $name "* ]] || missing+=("$name")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

if [[ $(id -u) -ne 0 ]]; then
    {
        echo "These packages are missing, and installing them needs root: ${missing[*]}"
        echo "Type:"
        echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
    } >&2
    exit 1
fi

echo "The build, the tests and the benchmarks need Debian packages that are missing. They are installed now, without"
echo "what is only recommended; the library itself needs none of them at run time:"
for name in "${missing[@]}"; do sed -n "s/^\($name \)/    \1/p" "$list"; done
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends "${missing[@]}"
