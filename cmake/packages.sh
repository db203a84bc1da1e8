#!/usr/bin/env bash
# packages.sh [run|build|test|rig]: installs what is missing of the packages that packages.txt lists for that target and
# those before it; without an argument, as for test. Does nothing when all are there; says what to type when it may not
# install. Runs before there is a compiler: needs only what every Debian has.
set -euo pipefail

list="$(dirname "$0")/../packages.txt"
case ${1:-test} in
run) needed=run ;;
build) needed='run|build' ;;
test) needed='run|build|test' ;;
rig) needed='run|build|test|rig' ;;
*)
    echo "packages.sh: there is no target '$1'; there are run, build, test and rig" >&2
    exit 2
    ;;
esac
mapfile -t wanted < <(sed -n -E "s/^([a-z0-9.+-]+) +($needed) .*/\1/p" "$list")

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

echo "\`make ${1:-test}\` needs Debian packages that are missing. They are installed now, without what is only recommended;"
echo "the library itself needs none of them at run time:"
for name in "${missing[@]}"; do sed -n -E "s/^($name +)[a-z]+ +/    \1/p" "$list"; done
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends "${missing[@]}"
