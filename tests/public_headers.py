#!/usr/bin/env python3
"""public_headers.py [COMPILER] [--untimed]: the headers that programs include, as holdfast/public_headers.txt lists them.

Each is there, once; the documentation's programs and the examples include no other; and what the two that nearly every
program includes bring along of the library is counted, since each of their headers is compiled in each of its sources.
The front door takes a bounded multiple of the processor time that its standard headers take by themselves; --untimed
leaves this out.
"""
import pathlib
import re
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = "holdfast/public_headers.txt"
# The library's own headers that these bring, themselves counted, and those of the engines not: each engine of the list
# has one. Lower a bound when fewer come.
BROUGHT = {"holdfast/holdfast.hpp": 74, "holdfast/engine/field.hpp": 10}
ENGINES = "holdfast/engine/engines.hpp"
# What compiling the front door may cost, as a multiple of its standard headers (1.4 measured).
COMPILE_RATIO = ("holdfast/holdfast.hpp", 2.5)
# Programs for users. The format's chapters show the library's inside.
PROGRAMS = ["README.md", "docs/guide/*.md", "examples/*.cpp", "tests/consumer/*.cpp", "tests/consumer/*/*.c*"]
STANDARD = re.compile(r"^\s*#include <([a-z_]+(?:\.h)?)>", re.M)
INCLUDE = re.compile(r"^\s*#include <(holdfast/[^>]+)>", re.M)


def listed():
    lines = (ROOT / LIST).read_text().splitlines()
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def brought_by(header, compiler):
    """The library's headers that a source reads which includes this one, by the compiler's own account."""
    command = [compiler, "-std=c++20", f"-I{ROOT}", "-MM", "-x", "c++", "-"]
    source = f"#include <{header}>\n"
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    return sorted(set(re.findall(r"[^ \\\n]*/(holdfast/[^ \\\n]+)", done.stdout)))


def compile_seconds(compiler, source):
    """The least processor time of three compilations without optimization."""
    command = [compiler, "-std=c++20", "-O0", f"-I{ROOT}", "-c", "-x", "c++", "-", "-o", "/dev/null"]
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run(command, input=source, text=True, check=True)
        times.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return min(times)


def compile_ratio(compiler, header):
    ours = brought_by(header, compiler)
    standard = sorted({name for each in ours for name in STANDARD.findall((ROOT / each).read_text())})
    alone = "".join(f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in standard)
    return compile_seconds(compiler, f"#include <{header}>\n") / compile_seconds(compiler, alone)


def findings(compiler, is_timed):
    public = listed()
    of_engines = set(INCLUDE.findall((ROOT / ENGINES).read_text()))
    for header in public:
        if not (ROOT / header).is_file():
            yield f"{LIST}: there is no {header}"
        if public.count(header) > 1:
            yield f"{LIST}: {header} stands there twice"
    for pattern in PROGRAMS:
        for path in sorted(ROOT.glob(pattern)):
            for header in INCLUDE.findall(path.read_text()):
                if header not in public:
                    yield f"{path.relative_to(ROOT)}: includes {header}, which {LIST} does not list"
    for header, most in BROUGHT.items():
        brought = [each for each in brought_by(header, compiler) if each not in of_engines]
        if len(brought) > most:
            yield f"{header}: brings {len(brought)} of our headers, at most {most}: {' '.join(brought)}"
    if not is_timed:
        return
    header, most = COMPILE_RATIO
    ratio = compile_ratio(compiler, header)
    print(f"{header} compiles in {ratio:.2f} times what its standard headers take")
    if ratio > most:
        yield f"{header}: compiles in {ratio:.2f} times what its standard headers take, at most {most}"


def main():
    arguments = [each for each in sys.argv[1:] if each != "--untimed"]
    found = list(findings(arguments[0] if arguments else "c++", "--untimed" not in sys.argv))
    print("\n".join(found) if found else f"{len(listed())} public headers, as listed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
