#!/usr/bin/env python3
"""Turns the C++ in the documentation into programs, so that it is compiled and run like any other.

In a page, a comment line right above a block says what the block is:

    <!-- snippet: NAME -->           a piece of the program PAGE_NAME; pieces of one name are joined in order
    <!-- snippet-setup: NAME         a piece that readers do not see: the lines up to the
    #include <cassert>               closing mark, which stands on a line of its own
    -->
    <!-- output: NAME -->            a text block: exactly what the program prints
    <!-- not compiled: REASON -->    a block that is no program

A piece with the line `// blocks over ENGINE` makes the program one whose atomic blocks are over that engine.

The program runs without arguments in an empty directory and must exit with 0.

    snippets.py extract DIRECTORY PAGE...    writes DIRECTORY/PAGE_NAME.cpp (.out), prints the programs' names
    snippets.py check PAGE...                fails on a C++ block without such a comment
    snippets.py run PROGRAM [EXPECTED]       runs it in an empty directory, compares what it prints
"""

import os
import re
import subprocess
import sys
import tempfile

MARK = re.compile(r"^<!-- (snippet|output|not compiled): (.+?) -->$")
SETUP = re.compile(r"^<!-- snippet-setup: (\S+)$")


class PageError(Exception):
    pass


def blocks(page):
    """(kind, name, language, first line number, lines) of each block of the page, in order; kind is
    snippet, setup, output, `not compiled` or None for a block without a comment above."""
    with open(page, encoding="utf-8") as file:
        lines = file.read().split("\n")
    at, mark = 0, None
    while at < len(lines):
        line = lines[at]
        fence = re.match(r"^(```+)\s*(\S*)", line)
        setup = SETUP.match(line)
        if fence or setup:
            closing = fence.group(1) if fence else "-->"
            end = next((i for i in range(at + 1, len(lines)) if lines[i] == closing), None)
            if end is None:
                raise PageError(f"{page}:{at + 1}: this block does not end")
            body = lines[at + 1:end]
            if setup:
                yield "setup", setup.group(1), "cpp", at + 2, body
            else:
                kind, name = mark if mark else (None, None)
                yield kind, name, fence.group(2), at + 2, body
            at, mark = end + 1, None
            continue
        found = MARK.match(line)
        if found:
            mark = (found.group(1), found.group(2))
        elif line.strip():
            if mark:
                raise PageError(f"{page}:{at + 1}: no block follows the comment above")
            if re.match(r"^<!--\s*(snippet|output|not)", line):
                raise PageError(f"{page}:{at + 1}: not understood: {line}")
        at += 1


def program_name(page, name):
    if not re.match(r"^[a-z][a-z0-9_]*$", name):
        raise PageError(f"{page}: '{name}' is no name: small letters, digits and _")
    stem = os.path.splitext(os.path.basename(page))[0].lower()
    return re.sub(r"[^a-z0-9]", "_", stem) + "_" + name


def programs(page):
    """{program: (source text, expected output or None)} of one page."""
    sources, outputs = {}, {}
    for kind, name, language, first, body in blocks(page):
        if kind in ("snippet", "setup"):
            if language != "cpp":
                raise PageError(f"{page}:{first}: a snippet stands in a cpp block")
            # The compiler then names the page and the line in it.
            piece = f'#line {first} "{os.path.abspath(page)}"\n' + "\n".join(body) + "\n"
            key = program_name(page, name)
            sources[key] = sources.get(key, "") + piece
        elif kind == "output":
            outputs[program_name(page, name)] = "".join(line + "\n" for line in body)
    for name in outputs:
        if name not in sources:
            raise PageError(f"{page}: there is no program to print the output of '{name}'")
    for name, source in sources.items():
        if not re.search(r"\bint main\(", source):
            raise PageError(f"{page}: '{name}' has no main: add it in a piece, a snippet-setup one if readers need not see it")
    return {name: (source, outputs.get(name)) for name, source in sources.items()}


def write_if_different(path, text):
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def extract(directory, pages):
    os.makedirs(directory, exist_ok=True)
    wanted = set()
    for page in pages:
        for name, (source, output) in programs(page).items():
            if name + ".cpp" in wanted:
                raise PageError(f"{page}: another page has a program {name}")
            write_if_different(os.path.join(directory, name + ".cpp"), source)
            wanted.add(name + ".cpp")
            if output is not None:
                write_if_different(os.path.join(directory, name + ".out"), output)
                wanted.add(name + ".out")
            print(name)
    for name in os.listdir(directory):
        if name.endswith((".cpp", ".out")) and name not in wanted:
            os.remove(os.path.join(directory, name))
    return 0


def check(pages):
    status = 0
    for page in pages:
        programs(page)
        for kind, _, language, first, _ in blocks(page):
            if language in ("cpp", "c++", "cc", "C++") and kind not in ("snippet", "setup", "not compiled"):
                print(f"{page}:{first - 1}: a C++ block without a comment that says which snippet it is")
                status = 1
    return status


def run(program, expected):
    with tempfile.TemporaryDirectory(dir=".") as directory:
        result = subprocess.run([os.path.abspath(program)], cwd=directory, capture_output=True, text=True)
    sys.stdout.write(result.stdout)
    sys.stderr.write(result.stderr)
    if result.returncode != 0:
        print(f"{program} ended with status {result.returncode}")
        return 1
    if expected:
        with open(expected, encoding="utf-8") as file:
            if file.read() != result.stdout:
                print(f"{program} does not print what the page says ({expected})")
                return 1
    return 0


def main(arguments):
    try:
        if arguments[0] == "extract":
            return extract(arguments[1], arguments[2:])
        if arguments[0] == "check":
            return check(arguments[1:])
        if arguments[0] == "run":
            return run(arguments[1], arguments[2] if len(arguments) > 2 else None)
    except IndexError:
        pass
    except PageError as error:
        print(error, file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
