#!/usr/bin/env bash
# unpack.sh: downloads the packages that packages.txt lists for the rig's guest and unpacks them below build/rig/packages,
# where that is not done yet. They are for another machine: nothing of them is installed on this one.
set -euo pipefail
cd "$(dirname "$0")/.."
into=build/rig/packages

fail() {
    echo "unpack.sh: $1" >&2
    exit 1
}

mapfile -t wanted < <(sed -n -E 's/^([a-z0-9.+-]+) +guest .*/\1/p' packages.txt)
missing=()
for name in "${wanted[@]}"; do
    [[ -e $into/$name ]] || missing+=("$name")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0
command -v apt-get >/dev/null || fail "this is not a Debian system: ${missing[*]} cannot be had here"

# A package of the kernel's without a version only depends on those that have the files.
parts_of() {
    case $1 in
    linux-*) apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
        --no-enhances "$1" 2>/dev/null | grep -E '^(linux-image-[0-9]|linux-headers-[0-9]|linux-kbuild-)' ;;
    *) echo "$1" ;;
    esac
}

mkdir -p "$into"
into=$(cd "$into" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# apt downloads as a user of its own, who may write here alone.
chmod 777 "$scratch"
download() {
    local parts
    mapfile -t parts < <(parts_of "$1")
    [[ ${#parts[@]} -gt 0 ]] || { echo "apt knows no such package" >"$scratch/said" && return 1; }
    (cd "$scratch" && apt-get download "${parts[@]}" >said 2>&1)
}

for name in "${missing[@]}"; do
    # Lists of packages may be old or not there; only root can renew them.
    download "$name" || { [[ $(id -u) -eq 0 ]] && apt-get update >"$scratch/said" 2>&1 && download "$name"; } ||
        fail "apt-get download $name: $(tail -1 "$scratch/said")"
    # The name appears when all is there.
    rm -rf "$into/.$name"
    for package in "$scratch"/*.deb; do dpkg-deb --extract "$package" "$into/.$name"; done
    mv "$into/.$name" "$into/$name"
    rm -f "$scratch"/*.deb
    echo "unpacked $name into build/rig/packages"
done
