#!/usr/bin/env python3
"""Every case of refused_types.cc is refused by the compiler, and the first error of each begins as the line above it says.

    refused_types_test.py SOURCE ROOT COMPILER...
"""

import os
import re
import subprocess
import sys

SOURCE, ROOT, *COMPILERS = sys.argv[1:]
HERE = r"refused_types\.cc:(\d+):"


def cases():
    """The sentence of each case by the number of its line."""
    lines = open(SOURCE, encoding="utf-8").read().split("\n")
    return {number + 2: lines[number][len("    // "):] for number in range(len(lines)) if lines[number].startswith("    // ")}


def first_errors(compiler):
    """The first error of each line. g++ says before an error which line made it instantiate that, clang++ behind it."""
    limit = "-fmax-errors=0" if "clang" not in os.path.basename(compiler) else "-ferror-limit=0"
    done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-w", limit, "-I" + ROOT, SOURCE],
                          capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    found, error, line = {}, None, None
    for each in done.stderr.split("\n"):
        place = re.search(HERE, each)
        if " error: " in each:
            error = each
            if "clang" in os.path.basename(compiler):
                line = None
            if place:
                line = int(place[1])
        elif place and line is None:
            line = int(place[1])
        elif place and "clang" not in os.path.basename(compiler):
            line, error = int(place[1]), None
        if line is not None and error is not None:
            found.setdefault(line, error.split(" error: ", 1)[1])
    return found


def main():
    wanted = cases()
    failed = []
    for compiler in COMPILERS:
        found = first_errors(compiler)
        for line, sentence in wanted.items():
            said = found.get(line)
            if said is None:
                failed.append(f"{compiler}: line {line} was not refused; expected: {sentence}")
            elif not re.sub(r"^static assertion failed[^:]*(?:::[^:]+)*: ", "", said).startswith(sentence):
                failed.append(f"{compiler}: line {line}: expected: {sentence}\n    found: {said}")
        failed += [f"{compiler}: line {line} was refused: {said}" for line, said in found.items()
                   if line > min(wanted) and line not in wanted]
    for each in failed:
        print(each)
    print(f"{len(wanted)} cases with {len(COMPILERS)} compilers, {len(failed)} failed")
    return 1 if failed or len(wanted) < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
