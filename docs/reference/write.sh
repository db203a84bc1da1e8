#!/usr/bin/env bash
# Writes the reference of the headers that holdfast/public_headers.txt lists, and of the explorer's, to
# build/reference/html. Everything else is a detail of these.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p build
{
    cat docs/reference/Doxyfile
    echo "INPUT = docs/reference/front_page.md crash/exploration.hpp" \
        "$(sed -n 's/^\(holdfast[^ ]*\).*/\1/p' holdfast/public_headers.txt | tr '\n' ' ')"
} | doxygen -
