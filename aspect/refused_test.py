#!/usr/bin/env python3
"""Every case of refused_classes.cc and refused_functions.cc is refused, by weave.py or by the compiler of its output, with the message it names.

    refused_test.py WEAVER CLANG COMPILER
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
ANNOTATED = "class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: void set() { a = 1; } };\n"


def cases():
    text = ""
    for name in ("refused_classes.cc", "refused_functions.cc"):
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            text += file.read()
    for part in text.split("\n// CASE ")[1:]:
        name, message, source = re.match(r"(.*)\n// REFUSED (.*)\n((?:.|\n)*)\Z", part).groups()
        yield name, message, source


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def weave(directory, source, project=None):
    """(status, what was said) of weaving a source and compiling what comes out."""
    output = os.path.join(directory, "woven.out.cc")
    status, said = run(sys.executable, os.path.join(HERE, "weave", "weave.py"), "--weaver", sys.argv[1], "--clang", sys.argv[2],
                       "--project", project or directory, "--output", output, source, "-I" + ROOT)
    if status == 0:
        status, said = run(sys.argv[3], "-std=c++20", "-w", "-fsyntax-only", "-I" + ROOT, output)
    return status, said


def write(directory, name, text):
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def refuses(case):
    name, message, source = case
    with tempfile.TemporaryDirectory() as directory:
        status, said = weave(directory, write(directory, "case.cc", source))
    if status == 0:
        return f"{name}: was not refused"
    return None if message in said else f"{name}: the message is not there, but:\n{said}"


def accepts_a_right_one(directory):
    status, said = weave(directory, write(directory, "right.cc", ANNOTATED))
    return None if status == 0 else f"a right class was refused:\n{said}"


def refuses_headers_outside_the_project(directory):
    write(directory, "elsewhere/far.hpp", "#pragma once\n" + ANNOTATED)
    source = write(directory, "unit/near.cc", '#include "../elsewhere/far.hpp"\nvoid use(refused_one& x) { x.set(); }\n')
    status, said = weave(directory, source, os.path.join(directory, "unit"))
    if status == 0 or "name a PROJECT directory above both" not in said:
        return f"a header outside the project was not refused: {said}"
    status, said = weave(directory, source, directory)
    return None if status == 0 else f"a header below the project was refused: {said}"


def refuses_headers_that_are_not_woven(directory):
    unwoven = write(directory, "unwoven.cpp", ANNOTATED)
    for compiler, option in (("g++", "-Werror=attributes"), (sys.argv[2], "-Werror=unknown-attributes")):
        if run(compiler, "-std=c++20", "-fsyntax-only", option, unwoven)[0] == 0:
            return f"{compiler} took an annotated class without the weaver"
    return None


def main():
    every = list(cases())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [each for each in pool.map(refuses, every) if each]
    for check in (accepts_a_right_one, refuses_headers_outside_the_project, refuses_headers_that_are_not_woven):
        with tempfile.TemporaryDirectory() as directory:
            failed += filter(None, [check(directory)])
    for each in failed:
        print("FAILED", each)
    print(f"{len(every)} cases, {len(failed)} failed")
    return 1 if failed or len(every) < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
