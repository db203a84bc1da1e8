#!/usr/bin/env bash
# run.sh BUILD_DIRECTORY: installs that build to a scratch prefix, moves the prefix, and builds and
# runs the consumer against it by find_package and by pkg-config, and the guide's C program likewise. Then builds and installs the library
# alone, with nothing but a compiler, CMake and make, and uses that as well.
set -euo pipefail
# The make that started the tests is none of the business of the one below.
unset MAKEFLAGS MAKELEVEL MFLAGS
build=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d "$build/installed-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
cd "$scratch"
guide=$scratch/guide
python3 -B "$root/tests/snippets.py" extract "$guide" "$root/docs/guide/wraps.md" >/dev/null

# use PREFIX: builds and runs the consumer both ways.
use() {
    local prefix=$1 configuration
    cmake -S "$here" -B by_package -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
    grep -q "^holdfast_DIR:PATH=$prefix/" by_package/CMakeCache.txt || { echo "another holdfast was found" >&2; exit 1; }
    cmake --build by_package >/dev/null
    (mkdir run_package && cd run_package && ../by_package/consumer)

    configuration=$(find "$prefix" -name holdfast.pc)
    # Splitting the flags into words is wanted.
    # shellcheck disable=SC2046
    "$compiler" -std=c++20 "$here/main.cpp" -o by_pkgconfig \
        $(PKG_CONFIG_PATH=$(dirname "$configuration") pkg-config --cflags --libs holdfast)
    (mkdir run_pkgconfig && cd run_pkgconfig && ../by_pkgconfig)
    if [[ -e $(dirname "$configuration")/holdfast-itm-value.pc ]]; then
        by_package/atomic_value
        by_package/atomic_versioned
        for algorithm in value versioned; do
            for run in 1 2 3; do
                status=0
                by_package/dnv_$algorithm "dnv_$algorithm.pool" || status=$?
                [[ $status == "$run" ]]
            done
            rm "dnv_$algorithm.pool"
        done
        # shellcheck disable=SC2046
        "$compiler" -std=c++20 -O2 -c "$here/atomic.cpp" -o atomic.o \
            $(PKG_CONFIG_PATH=$(dirname "$configuration") pkg-config --cflags holdfast-itm-value)
        # shellcheck disable=SC2046
        "$compiler" atomic.o -o atomic_pkgconfig \
            $(PKG_CONFIG_PATH=$(dirname "$configuration") pkg-config --libs holdfast-itm-value)
        ./atomic_pkgconfig
        rm atomic.o atomic_pkgconfig
    fi
    if [[ -e $prefix/include/holdfast-cache ]]; then
        mkdir run_cache
        (cd run_cache && ../by_package/cached && ../by_package/cached && ../by_package/cached_in_c) >cached.txt
        diff cached.txt <(printf 'life 1\nlife 2\n2 lives\n')
        rm -rf run_cache cached.txt
        echo "the installed key-value cache is usable from C++ and from C"
    fi
    rm -rf by_package by_pkgconfig run_package run_pkgconfig
    use_in_c "$prefix"
}

# use_in_c PREFIX: the C program of the guide, both ways, by a C compiler and in a folder with nothing else.
use_in_c() {
    local prefix=$1 configuration expected=$guide/wraps_after.out
    mkdir in_c
    cp "$guide/wraps_after.cpp" in_c/shelves.c
    cmake -S "$here/c" -B in_c/by_package -DGUIDE_PROGRAM="$PWD/in_c/shelves.c" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
    cmake --build in_c/by_package >/dev/null
    (mkdir in_c/run_package && cd in_c/run_package && ../by_package/c_consumer | diff - "$expected")

    configuration=$(find "$prefix" -name holdfast.pc)
    # shellcheck disable=SC2046
    gcc -std=c11 -Wall -Wextra -Wpedantic -Werror in_c/shelves.c -o in_c/by_pkgconfig \
        $(PKG_CONFIG_PATH=$(dirname "$configuration") pkg-config --cflags --libs holdfast)
    (mkdir in_c/run_pkgconfig && cd in_c/run_pkgconfig && ../by_pkgconfig | diff - "$expected")
    rm -rf in_c

    # Names of its own, in C and C++: others would meet those of the programs that link it. (DW.ref is the compiler's.)
    nm -g --defined-only "$(find "$prefix" -name libholdfast.a)" | awk 'NF == 3 { print $3 }' | sort -u >names.txt
    if grep -v -e '^holdfast_' -e '^_Z' -e '^DW\.ref\.' names.txt; then
        echo "these symbols of the library have no prefix" >&2
        exit 1
    fi
    grep -q '^holdfast_wrap_open$' names.txt
    rm names.txt
}

cmake --install "$build" --prefix "$scratch/first" >/dev/null
mv first moved
if find moved -name '*test*' | grep .; then
    echo "the installation has files of the tests" >&2
    exit 1
fi
use "$scratch/moved"
# explore COMPILER: builds and runs a test with the installed explorer, which need not have been built by it.
explore() {
    cmake -S "$here" -B explored -DCONSUMER_EXPLORES=ON -DCMAKE_CXX_COMPILER="$1" \
        -DCMAKE_PREFIX_PATH="$scratch/moved" >/dev/null
    cmake --build explored --target explored >/dev/null
    explored/explored
    rm -rf explored
    echo "a test explores its own structures with the installed explorer and $1"
}
if [[ -d moved/include/holdfast-crash ]]; then
    explore "$compiler"
    if command -v clang++-19 >/dev/null; then explore clang++-19; fi
fi
echo "the installed library is usable by find_package and by pkg-config, from C++ and from C"
if command -v ag++ >/dev/null; then
    cmake -S "$here" -B woven -DCONSUMER_WEAVES=ON -DCMAKE_CXX_COMPILER="$compiler" \
        -DCMAKE_PREFIX_PATH="$scratch/moved" >/dev/null
    cmake --build woven --target woven >/dev/null
    woven/woven
    if cmake --build woven --target unwoven >unwoven.txt 2>&1; then
        echo "a class was compiled without the weaver that another source has woven" >&2
        exit 1
    fi
    grep -q "attribute" unwoven.txt || { cat unwoven.txt >&2; exit 1; }
    rm -rf woven
    echo "classes are woven by the installed package, and only woven"
fi

cmake --no-warn-unused-cli -S "$root" -B alone -G "Unix Makefiles" -DHOLDFAST_ONLY_LIBRARY=ON \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_UNITY_BUILD=ON \
    -DCMAKE_INSTALL_PREFIX="$scratch/second" -DCMAKE_INSTALL_LIBDIR="lib/$(uname -m)-linux-gnu" \
    -DCMAKE_DISABLE_FIND_PACKAGE_{GTest,rapidcheck,CLI11,fmt,nlohmann_json,PkgConfig,Python3}=ON >/dev/null
cmake --build alone --parallel 2 >/dev/null
cmake --install alone >/dev/null
use "$scratch/second"
echo "the library alone builds with a compiler and CMake"
