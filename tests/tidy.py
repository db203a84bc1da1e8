#!/usr/bin/env python3
"""Checks the rules of CONTRIBUTING.md that a machine can check. Usage: tidy.py [DIRECTORY]

tests/tidy_ratchet.txt grants single files more than the rules do, as lines `PATH RULE LIMIT`.
A limit may only go down: when a file gets better the test fails until its line says so.
"""

import os
import re
import subprocess
import sys

LINE_COLUMNS = 120
FUNCTION_LINES = 70
FILE_LINES = 500

# Of each folder with rooms, on which floor they are: a room may include itself, rooms of lower floors and base/, and so
# may its tests. What stands right in the folder is the front door. A folder that is not here has no rooms.
FLOORS = {
    "holdfast": {"base": 1, "stm": 1, "htm": 2, "persist": 2, "format": 2, "ecc": 2, "log": 3, "heap": 3, "line": 3, "powerfail": 3,
                 "pool": 4,
                 "engine": 5, "handle": 6, "container": 7, "itm": 7, "c": 8, "dnv": 8, "": 8},
    "crash": {"cut": 1, "record": 2, "subjects": 3, "explore": 4, "explain": 5, "plant": 6, "": 7},
    "sim": {"base": 1, "port": 2, "front": 2, "timeline": 2, "memory": 3, "guest": 3, "cache": 4, "core": 5,
            "logging": 5, "energy": 5, "machine": 6, "examples": 7, "": 8},
    "bench": {"contest": 1, "figures": 2, "dnv": 2, "rivals": 2, "tl2": 2, "transactions": 2, "": 3},
    "workload": {"": 1, "gen": 2, "ds": 2, "cache": 2, "stamp": 3},
    "cache": {"": 1, "program": 2},
    "aspect": {"weave": 1, "features": 2, "pooled": 2, "probed": 2, "refused": 2, "": 3},
    "examples": {"own_engine": 1, "": 2},
    "tests": {"consumer": 1, "kill": 1, "rig": 2, "": 3},
}

# Rooms that the tests of lower rooms use as well: a test wants a pool, however low stands what it proves, and names
# of sites.
USED_BY_EVERY_TEST = ["holdfast/handle"]

# Put together so that this file does not break its own rules.
BANNED_WORDS = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b")

# Paths that exist on one machine only.
MACHINE_PATHS = re.compile(r"(?<![\w.])/(" + "|".join(["wo" + "rk", "ro" + "ot", "home/" + "runner"]) + r")/")

# Turns of phrase that readers stumble over, in pages, in the headers that are installed, and in the programs that print
# help and messages; also across lines.
AWKWARD = ["so many", "for who ", "and its like", "goes home", "at its wish", "comes back whole", "(?:is|are) told of", "in vain",
           "what came of", "what did not pay", "least and most", "dear(?:er|est)", "stands twice", "go on at"]
PLAIN_ENGLISH = re.compile(r"\.md$|^holdfast/(?!.*test).*\.(hpp|h)$|^(tools|bench|crash|cache)/(?!.*test).*\.(cpp|hpp|h)$")
# In pages also these: say "the thread that", "again", "nevertheless" and "after".
AWKWARD_IN_PAGES = AWKWARD + ["whoever", "anew", "all the same", "without a word", "goes on at",
                              "behind (?:its|the|a|each|every|one) (?:commit|conflict|fence|transaction)"]

# What only persist/ may do: write back, fence, stream, sync, map.
MACHINE = re.compile(
    r"\b(_mm_clwb|_mm_clflush\w*|_mm_sfence|_mm_mfence|_mm_stream_\w+|__builtin_ia32_(?:clwb|clflush\w*|sfence)"
    r"|msync|fsync|fdatasync|sync_file_range|syncfs|pwritev2|mmap|munmap|mremap|mprotect|madvise)\s*\("
)
MACHINE_ASSEMBLY = re.compile(r"\b(clwb|clflush(opt)?|sfence|mfence|movnt\w+|dsb|dc\s+cvap|dc\s+cvac)\b")
# Tests take address ranges and map damaged files themselves; rivals have to be driven as they are; the
# explorer protects pools and lays images where they were; the simulated machine's memory is no pool. The fence of a
# hardware transaction's stamp orders a clock, not what becomes durable. The kernel's module has no library below it.
MACHINE_EXEMPT = re.compile(r"(^holdfast/persist/|^holdfast/htm/rtm_instructions\.hpp$|^crash/|^sim/|^kernel/|(^|/)[^/]*test[^/]*$|^bench/.*rival)")

# Workloads also run where there is no operating system and no standard library's heap.
WORKLOAD_INCLUDE = re.compile(
    r"<(vector|string|map|set|list|deque|queue|unordered_\w+|memory|iostream|fstream|sstream|exception|stdexcept"
    r"|thread|mutex|sys/.*|unistd\.h|fcntl\.h|holdfast/.*)>"
)

CODE_FOLDERS = ("holdfast/", "crash/", "workload/", "cache/", "tools/", "bench/", "examples/", "aspect/", "tests/",
                "sim/", "fuzz/", "kernel/")
# .cc is woven, .ah tells the weaver how.
CODE_SUFFIXES = (".c", ".cpp", ".hpp", ".h", ".cc", ".ah")
TEXT_SUFFIXES = CODE_SUFFIXES + (".md", ".py", ".sh", ".cmake", ".txt", ".json", ".in", ".yml")
TEXT_NAMES = ("Makefile", "run", ".gitignore", ".clang-format")


# Suite and sentence of a test.
TEST_NAMES = re.compile(r"^(?:TYPED_)?(?:TEST|RC_GTEST_PROP)(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)", re.M)
CAMEL_CASE = re.compile(r"[A-Z][A-Za-z0-9]*")

ENGINES = "holdfast/engine/engines.hpp"

# Names of the standard headers that the library's sources have precompiled (cmake/holdfast_targets.cmake): where one is
# missing the compiler does not notice.
PRECOMPILED = {
    "atomic": r"std::atomic\w*\b|std::memory_order", "cstring": r"std::(?:mem(?:cpy|move|set|cmp|chr)|str(?:len|cmp|ncmp|chr|error))\(",
    "memory": r"std::(?:unique_ptr|shared_ptr|make_unique|make_shared|addressof|construct_at|destroy_at)\b",
    "optional": r"std::(?:optional|nullopt)\b", "span": r"std::span\b", "string": r"std::(?:string|to_string)\b",
    "string_view": r"std::string_view\b", "utility": r"std::(?:move|exchange|pair|forward|swap)\b", "vector": r"std::vector\b",
}


class Finding:
    def __init__(self, path, line, rule, text, amount=None):
        self.path, self.line, self.rule, self.text, self.amount = path, line, rule, text, amount

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text} [{self.rule}]"


def without_comments(text, keep_strings):
    """The text with comments (and the contents of strings) blanked, every line where it was."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
        re.S,
    )

    def blank(match):
        found = match.group(0)
        if found.startswith("/"):
            return re.sub(r"[^\n]", " ", found)
        if keep_strings:
            return found
        return found[0] + re.sub(r"[^\n]", " ", found[1:-1]) + found[-1]

    return pattern.sub(blank, text)


def functions(text):
    """(first line, number of lines, name) of each function body, roughly: a block that is no scope
    and whose head has parentheses, outside any other function."""
    code = without_comments(text, keep_strings=False)
    code = re.sub(r"^[ \t]*#.*(?:\\\n.*)*", lambda match: re.sub(r"[^\n]", " ", match.group(0)), code, flags=re.M)
    found, blocks, head_begin = [], [], 0
    inside = 0  # how many of the open blocks are functions or lie in one
    for at, letter in enumerate(code):
        if letter == "{":
            head = code[head_begin:at]
            scope = re.search(r"\b(namespace|class|struct|union|enum|extern)\b", head) and not head.rstrip().endswith(")")
            is_function = not inside and not scope and ")" in head
            blocks.append((is_function or inside > 0, head_begin + len(head) - len(head.lstrip()), is_function, head))
            inside += 1 if is_function or inside else 0
            head_begin = at + 1
        elif letter == "}":
            if blocks:
                within, begin, is_function, head = blocks.pop()
                inside -= 1 if within else 0
                if is_function:
                    name = re.search(r"([\w:~]+|operator\s*\S+)\s*\(", head)
                    first = code.count("\n", 0, begin) + 1
                    last = code.count("\n", 0, at) + 1
                    found.append((first, last - first + 1, name.group(1) if name else "?"))
            head_begin = at + 1
        elif letter == ";" and not inside:
            head_begin = at + 1
    return found


def place_of(path):
    """The folder at the root and the room in it."""
    parts = path.split("/")
    return parts[0], parts[1] if len(parts) > 2 else ""


def included_path(path, bracket, name):
    """From the root, where that can be told."""
    beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
    return beside if bracket == '"' and os.path.exists(beside) else name


def check_lengths(path, lines, text):
    for number, line in enumerate(lines, 1):
        columns = len(line.expandtabs())
        if columns > LINE_COLUMNS and path.endswith(CODE_SUFFIXES):
            yield Finding(path, number, "line", f"{columns} columns, at most {LINE_COLUMNS}", columns)
    if path.endswith(CODE_SUFFIXES + (".py",)) and len(lines) > FILE_LINES:
        yield Finding(path, len(lines), "file", f"{len(lines)} lines, at most {FILE_LINES}", len(lines))
    if path.endswith(CODE_SUFFIXES):
        for first, count, name in functions(text):
            if count > FUNCTION_LINES:
                yield Finding(path, first, "function", f"{name} has {count} lines, at most {FUNCTION_LINES}", count)


def check_words(path, lines):
    for number, line in enumerate(lines, 1):
        word = BANNED_WORDS.search(line)
        if word:
            yield Finding(path, number, "word", f"'{word.group(0)}': finish it or leave it out")
        if MACHINE_PATHS.search(line):
            yield Finding(path, number, "path", "a path of one machine")
        if re.search(r"[ \t]$", line):
            yield Finding(path, number, "space", "white space at the end of the line")
        # What the kernel compiles is in the kernel's style, with tabs.
        if "\t" in line and path.endswith(CODE_SUFFIXES + (".py", ".cmake")) and not re.match(r"kernel/.*\.[ch]$", path):
            yield Finding(path, number, "tab", "a tab")


def any_of(phrases):
    return re.compile(r"\b(" + "|".join(phrases).replace(" ", r"[\s/*]+") + ")", re.I)


def check_english(path, text):
    if not PLAIN_ENGLISH.search(path):
        return
    for found in any_of(AWKWARD_IN_PAGES if path.endswith(".md") else AWKWARD).finditer(text):
        yield Finding(path, text.count("\n", 0, found.start()) + 1, "english", f"'{' '.join(found.group(0).split())}'")


def check_includes(path, text):
    for number, line in enumerate(without_comments(text, keep_strings=True).split("\n"), 1):
        include = re.match(r'\s*#\s*include\s*([<"])([^>"]+)', line)
        if not include:
            continue
        if include.group(1) == '"' and path.startswith(("holdfast/", "workload/")):
            yield Finding(path, number, "include", "include from the repository's root, in angle brackets")
        (folder, room), (other_folder, other) = place_of(path), place_of(included_path(path, *include.groups()))
        floors = FLOORS.get(folder, {})
        if "test" in os.path.basename(path) and (f"{other_folder}/{other}" in USED_BY_EVERY_TEST
                                                 or os.path.basename(include.group(2)) == "sites.hpp"):
            continue
        if (folder == other_folder and room in floors and other in floors and other not in (room, "base")
                and floors[other] >= floors[room]):
            yield Finding(path, number, "floor", f"{room}/ (floor {floors[room]}) uses {other or 'the front door'}"
                          f" (floor {floors[other]})")
        if path.startswith("workload/") and "test" not in path and WORKLOAD_INCLUDE.match(f"<{include.group(2)}>"):
            yield Finding(path, number, "workload", f"workloads do without <{include.group(2)}>")


def check_precompiled(paths):
    """Each source of the library includes what it names, or a header of ours that does."""
    closures = {}

    def read(path):
        with open(path, encoding="utf-8") as file:
            return without_comments(file.read(), keep_strings=False)

    def standard_headers(path):
        """All that `path` includes, at any depth of headers that are ours."""
        if path not in closures:
            closures[path] = set()
            for name in re.findall(r"#\s*include\s*<([^>]+)>", read(path)):
                closures[path] |= standard_headers(name) if os.path.exists(name) else {name}
        return closures[path]

    for path in paths:
        if not re.match(r"holdfast/.*\.cpp$", path) or "test" in os.path.basename(path):
            continue
        text = read(path)
        for header, names in PRECOMPILED.items():
            found = re.search(names, text) if header not in standard_headers(path) else None
            if found:
                yield Finding(path, text.count("\n", 0, found.start()) + 1, "include",
                              f"{found.group(0)} without <{header}>")


def check_machine(path, text):
    if MACHINE_EXEMPT.search(path):
        return
    for keep, pattern in ((False, MACHINE), (True, MACHINE_ASSEMBLY)):
        for number, line in enumerate(without_comments(text, keep_strings=keep).split("\n"), 1):
            found = pattern.search(line)
            if found and (not keep or re.search(r"\basm\b|^\s*\"", line)):
                yield Finding(path, number, "machine", f"'{found.group(0).strip('( ')}' belongs in persist/")


def check_test_names(path, text):
    for found in TEST_NAMES.finditer(text):
        for name in found.groups():
            if not CAMEL_CASE.fullmatch(name):
                yield Finding(path, text.count("\n", 0, found.start()) + 1, "name", f"test name {name} is not in CamelCase")


def check_rooms(paths):
    """No room without a floor, no source that nothing builds."""
    lists = {}
    for path in paths:
        if os.path.basename(path) == "CMakeLists.txt":
            with open(path, encoding="utf-8") as file:
                lists[os.path.dirname(path)] = file.read()
    # The build takes the engines' sources from their list.
    if os.path.exists(ENGINES):
        with open(ENGINES, encoding="utf-8") as file:
            lists[os.path.dirname(ENGINES)] += " ".join(
                re.findall(r"#include <holdfast/engine/(\w+\.)hpp>", file.read())).replace(".", ".cpp")
    for path in paths:
        folder, room = place_of(path)
        if path.startswith(CODE_FOLDERS) and room not in FLOORS.get(folder, {"": 1}):
            yield Finding(path, 1, "room", f"tests/tidy.py does not know on which floor of {folder}/ {room}/ is")
        if not path.endswith((".cpp", ".cc")) or not path.startswith(CODE_FOLDERS):
            continue
        folder = os.path.dirname(path)
        while folder and folder not in lists:
            folder = os.path.dirname(folder)
        name = os.path.relpath(path, folder) if folder else path
        if not re.search(r"(?<![\w/.])" + re.escape(name) + r"(?![\w.])", lists.get(folder, "")):
            yield Finding(path, 1, "dead", f"{folder or '.'}/CMakeLists.txt does not name this file")


def check_file(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    elif path not in ("LICENSE",):
        yield Finding(path, len(lines), "end", "the last line does not end")
    yield from check_words(path, lines)
    yield from check_english(path, text)
    yield from check_lengths(path, lines, text)
    if path.endswith(CODE_SUFFIXES) and path.startswith(CODE_FOLDERS):
        yield from check_includes(path, text)
        yield from check_machine(path, text)
        yield from check_test_names(path, text)
        if path.endswith((".hpp", ".h", ".ah")) and not re.search(r"^#pragma once$", text, re.M):
            yield Finding(path, 1, "guard", "no #pragma once")


def files():
    """What git has or would add; outside a checkout, everything but build directories."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return sorted(set(path for path in listed.stdout.split("\n") if path and os.path.isfile(path)))
    found = []
    for folder, folders, names in os.walk("."):
        folders[:] = [name for name in folders if not name.startswith("build") and name != ".git"]
        found += [os.path.relpath(os.path.join(folder, name), ".") for name in names]
    return sorted(found)


def read_ratchet():
    limits = {}
    if os.path.exists("tests/tidy_ratchet.txt"):
        with open("tests/tidy_ratchet.txt", encoding="utf-8") as file:
            for line in file:
                words = line.split("#")[0].split()
                if words:
                    limits[(words[0], words[1])] = int(words[2])
    return limits


def apply_ratchet(findings, limits):
    """Leaves out what the ratchet grants; adds a finding for each grant that is larger than needed."""
    worst = {}
    for finding in findings:
        key = (finding.path, finding.rule)
        if finding.amount is None or finding.amount > limits.get(key, 0):
            yield finding
        if finding.amount is not None:
            worst[key] = max(worst.get(key, 0), finding.amount)
    for (path, rule), limit in limits.items():
        needed = worst.get((path, rule), 0)
        if needed < limit:
            yield Finding("tests/tidy_ratchet.txt", 1, "ratchet",
                          f"{path} {rule} needs {needed or 'no line here'} instead of {limit}")


def main():
    if len(sys.argv) > 1:
        os.chdir(sys.argv[1])
    paths = files()
    text_files = [path for path in paths if path.endswith(TEXT_SUFFIXES) or os.path.basename(path) in TEXT_NAMES]
    findings = [finding for path in text_files for finding in check_file(path)]
    findings += check_rooms(paths)
    findings += check_precompiled(paths)
    findings = list(apply_ratchet(findings, read_ratchet()))
    for finding in findings:
        print(finding)
    print(f"{len(text_files)} files, {len(findings)} findings")
    return 1 if findings or not text_files else 0


if __name__ == "__main__":
    sys.exit(main())
