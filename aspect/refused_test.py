#!/usr/bin/env python3
"""Every case of refused/*.cc is refused, by weave.py or by the compiler of its output, at its line and with its sentence.

    refused_test.py WEAVER CLANG COMPILER

A case is `// CASE name`, `// REFUSED a part of what is said`, and a source, whose lines that must be named end in
`// HERE`. No other line may be named. Cases share one run of weave.py, each in a namespace of its own. Not so those
with `// REFUSED ALONE`, which the weaver or the compiler refuses, or which concern a whole file.
"""

import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
ANNOTATED = "class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: void set() { a = 1; } };\n"
FLAGS = ["-O2", "-DNDEBUG", "-std=c++20", "-I" + ROOT]


class Case:
    def __init__(self, part):
        self.name, alone, self.message, text = re.match(r"(.*)\n// REFUSED (ALONE )?(.*)\n((?:.|\n)*)\Z", part).groups()
        self.alone, self.lines = bool(alone), text.rstrip("\n").split("\n")
        self.here = {number for number, line in enumerate(self.lines, 1) if line.endswith("// HERE")}

    def judge(self, said):
        """`said` are (line of the case, text)."""
        if not said:
            return f"{self.name}: was not refused"
        if not self.here:
            return f"{self.name}: no line of it is marked"
        named = {line for line, _ in said}
        if named != self.here or not any(self.message in text for _, text in said):
            listed = "\n    ".join(f"{line}: {text}" for line, text in said)
            return f"{self.name}: lines {sorted(self.here)} and '{self.message}' were expected, but:\n    {listed}"
        return None


def cases():
    for name in sorted(glob.glob(os.path.join(HERE, "refused", "*.cc"))):
        with open(name, encoding="utf-8") as file:
            for part in ("\n" + file.read()).split("\n// CASE ")[1:]:
                yield Case(part)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def weave(directory, source, project=None, compile_it=True):
    """(status, what was said) of weaving a source and compiling what comes out."""
    output = os.path.join(directory, "woven.out.cc")
    status, said = run(sys.executable, os.path.join(HERE, "weave", "weave.py"), "--weaver", sys.argv[1], "--clang",
                       sys.argv[2], "--compiler", sys.argv[3], "--project", project or directory, "--output", output, source,
                       *FLAGS)
    if status == 0 and compile_it:
        status, said = run(sys.argv[3], "-w", "-fsyntax-only", *FLAGS, output)
    return status, said


def write(directory, name, text):
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def errors(said):
    """(line, text) of what is said of the source; of the compiler's errors the first, which the rest follow from."""
    found = [(int(line), text) for line, text in re.findall(r"(?:^|/)case\.cc:(\d+):(?:\d+:)? error: (.*)", said, re.M)]
    return found if any("woven class" in text or "weaver" in text for _, text in found) else found[:1]


def refuses_alone(case):
    with tempfile.TemporaryDirectory() as directory:
        status, said = weave(directory, write(directory, "case.cc", "\n".join(case.lines) + "\n"))
    if status == 0:
        return f"{case.name}: was not refused"
    failed = case.judge(errors(said))
    return failed and f"{failed}\n{said}"


def refuse_together(every):
    """The failures of cases that are one source."""
    lines, origins = [], []
    for case in every:
        for line in case.lines:
            if line.startswith("#include") and line not in lines:
                lines.append(line), origins.append(None)
    for number, case in enumerate(every):
        lines.append(f"namespace case_{number} {{"), origins.append(None)
        for at, line in enumerate(case.lines, 1):
            lines.append("" if line.startswith("#include") else line), origins.append((case, at))
        lines.append("}"), origins.append(None)
    with tempfile.TemporaryDirectory() as directory:
        status, said = weave(directory, write(directory, "case.cc", "\n".join(lines) + "\n"), compile_it=False)
    if status == 0:
        return ["the cases that are one source were not refused"]
    told, strays = {}, []
    for line, text in errors(said):
        if origins[line - 1] is None:
            strays.append(f"a line of no case was refused: {text}")
        else:
            case, at = origins[line - 1]
            told.setdefault(id(case), []).append((at, text))
    if not told:
        return [f"the cases that are one source were refused otherwise:\n{said}"]
    return strays + [failed for failed in (case.judge(told.get(id(case), [])) for case in every) if failed]


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


def refuses_other_flags_than_it_was_woven_with(directory):
    """Where a macro of a woven class depends on them."""
    flags = ["-std=c++20", "-I" + ROOT, "-O2", "-DNDEBUG"]
    uses = {"#include <assert.h>\n" + ANNOTATED.replace("a = 1", "a = 1; assert(a == 1)"): {"-UNDEBUG"},
            "#ifdef __OPTIMIZE__\n#define ONE 1\n#else\n#define ONE 0\n#endif\n" + ANNOTATED.replace("a = 1", "a = ONE"): {"-O0"},
            "#include <assert.h>\nvoid other(int a) { assert(a > 0); }\n" + ANNOTATED: set()}
    for text, decide in uses.items():
        status, said = weave(directory, write(directory, "flags.cc", text))
        if status != 0:
            return f"a class whose macros the weaver and the compiler see alike was refused:\n{said}"
        for other in ("-UNDEBUG", "-O0"):
            status, said = run(sys.argv[3], "-w", "-fsyntax-only", *flags, other, os.path.join(directory, "woven.out.cc"))
            if (other in decide) != ("flags.cc was woven with other flags than these" in said) or (not decide and status != 0):
                return f"{other} behind -O2 -DNDEBUG, which decide: {sorted(decide)}\n{said}"
    return None


def refuses_headers_that_are_not_woven(directory):
    unwoven = write(directory, "unwoven.cpp", ANNOTATED)
    for compiler, option in (("g++", "-Werror=attributes"), (sys.argv[2], "-Werror=unknown-attributes")):
        if run(compiler, "-std=c++20", "-fsyntax-only", option, unwoven)[0] == 0:
            return f"{compiler} took an annotated class without the weaver"
    return None


def main():
    every = list(cases())
    together = [case for case in every if not case.alone]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        shared = pool.submit(refuse_together, together)
        failed = [each for each in pool.map(refuses_alone, [case for case in every if case.alone]) if each]
        failed += shared.result()
    for check in (accepts_a_right_one, refuses_headers_outside_the_project, refuses_headers_that_are_not_woven,
                  refuses_other_flags_than_it_was_woven_with):
        with tempfile.TemporaryDirectory() as directory:
            failed += filter(None, [check(directory)])
    for each in failed:
        print("FAILED", each)
    print(f"{len(every)} cases, {len(failed)} failed")
    return 1 if failed or len(every) < 250 else 0


if __name__ == "__main__":
    sys.exit(main())
