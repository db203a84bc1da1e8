#!/usr/bin/env python3
"""Fails when a public function over a pool is missing in the list that the tests call in every state.

The list is what stands first in each entry of holdfast/**/entry_*test.[ch]pp; the functions are those that the public
headers declare: members of the classes below, functions outside of classes, and all of C's.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = {
    "holdfast/handle/pool.hpp": {"basic_pool"},
    "holdfast/handle/line_pool.hpp": {"line_pool"},
    "holdfast/handle/wrap.hpp": {"wrap", "wrapped_lock"},
    "holdfast/engine/engine.hpp": {"engine_interface"},
    "holdfast/engine/field.hpp": {"basic_field"},
    "holdfast/line/line.hpp": {"line"},
    "holdfast/line/lines.hpp": {"lines"},
    "holdfast/engine/softwrap.hpp": {"softwrap"},
}
C_HEADER = "holdfast/c/holdfast.h"
WORDS = {"if", "for", "while", "switch", "return", "sizeof", "alignof", "static_assert", "decltype", "noexcept",
         "requires", "alignas", "catch", "static_cast"}


def without_comments(text):
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\])*"', '""', text)
    return re.sub(r"(?m)^\s*#[^\n]*(\\\n[^\n]*)*", "", text)


def blocks(text):
    """The declarations right in `text`: (what stands before a body or semicolon, the body or '')."""
    begin = at = depth = 0
    while at < len(text):
        letter = text[at]
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == ";" and depth == 0:
            yield text[begin:at].strip(), ""
            begin = at + 1
        elif letter == "{" and depth == 0:
            end, level = at, 0
            while True:
                level += (text[end] == "{") - (text[end] == "}")
                end += 1
                if level == 0:
                    break
            yield text[begin:at].strip(), text[at + 1:end - 1]
            begin, at = end, end - 1
        at += 1


def function_name(head):
    """The name of the function that `head` declares, or None."""
    head = re.sub(r"\[\[[^]]*\]\]", "", head)
    head = re.sub(r"^(template\s*<[^()]*?>\s*(?=[\w:~]))+", "", head)
    head = re.sub(r"\balignas\([^)]*\)", "", head)
    if re.match(r"(using|typedef|friend|struct|class|enum|union|namespace|static_assert|concept)\b", head):
        return None
    for found in re.finditer(r"(operator\s*(?:\(\)|\[\]|[^\s\w(]+|\w+)|~?\w+)\s*\(", head):
        if "=" in re.sub(r"operator\W+|template\s*<.*?>", "", head[:found.start()]):
            return None
        if found.group(1) not in WORDS:
            return re.sub(r"operator\s+(?=\W)", "operator", found.group(1)).replace(" ", "_")
    return None


def public_part(body, is_struct):
    """The body with its public declarations alone."""
    public, kept = is_struct, []
    for head, inner in blocks(body):
        while label := re.match(r"(public|private|protected)\s*:(?!:)", head):
            public = label.group(1) == "public"
            head = head[label.end():].strip()
        if public:
            kept.append(head)
    return kept


def declared(path, classes):
    """The names that a C++ header declares, over all namespaces but detail and unnamed ones."""
    def look(text):
        for head, body in blocks(text):
            if re.search(r"\bnamespace holdfast$", head):
                yield from look(body)
                continue
            of = re.search(r"\b(class|struct)\s+(?:alignas\([^)]*\(?[^)]*\)?\)\s*)?(\w+)(?:\s+final)?(?:\s*:[^:].*)?$", head,
                           flags=re.S)
            if of and body:
                if of.group(2) in classes:
                    for each in public_part(body, of.group(1) == "struct"):
                        name = function_name(each)
                        if name and "= delete" not in each:
                            yield f"{of.group(2)}::{name}"
            elif name := function_name(head):
                if "namespace" not in head:
                    yield name

    return set(look(without_comments((ROOT / path).read_text())))


def declared_in_c(path):
    text = without_comments((ROOT / path).read_text())
    return set(re.findall(r"(\w+)\s*\([^()]*\)\s*;", text))


def listed():
    names = set()
    for path in sorted(ROOT.glob("holdfast/**/entry_*test.[ch]pp")):
        for covers in re.findall(r'^\s*\{("[^"]*"(?:\s*"[^"]*")*),', path.read_text(), flags=re.M):
            names |= set("".join(re.findall(r'"([^"]*)"', covers)).split())
    return names


def main():
    wanted = declared_in_c(C_HEADER)
    for path, classes in HEADERS.items():
        found = declared(path, classes)
        for each in classes:
            if not any(name.startswith(each + "::") for name in found):
                print(f"{path}: no public function of {each} was found; tests/entry_points.py cannot read it")
                return 1
        wanted |= found
    missing = wanted - listed()
    for name in sorted(missing):
        print(f"{name} is declared, and the list in holdfast/**/entry_*test.* does not call it")
    print(f"{len(wanted)} public functions, {len(missing)} not listed")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
