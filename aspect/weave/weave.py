#!/usr/bin/env python3
"""Weaves one C++17 source: holdfast_add_woven_sources of holdfast_weave.cmake runs it.

    weave.py --weaver AG++ --clang CLANG++ --project DIRECTORY --output OUT.cc [--depfile FILE] SOURCE [FLAG...]

FLAGs are -I, -isystem and -D. First clang's syntax tree of the source says whether each annotated class is one for which
the aspect is right (refusals.py): if not, the messages are those of a compiler and nothing is written. Then AspectC++
weaves, and the result is compared with what the tree had: no function may have been left alone.
"""

import argparse
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import refusals  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ATTRIBUTE = re.compile(r"NVM\s*::\s*transactional\b")
WARNING = re.compile(r"^(.*):(\d+):(\d+): warning: unknown attribute 'transactional' ignored", re.M)


class Failure(Exception):
    pass


def clang(options, *more):
    # What the weaver sees, it is to see.
    command = [options.clang, "-std=c++17", "-D__acweaving=1", "-fsyntax-only", "-Wno-everything", "-Wunknown-attributes",
               "-Wsystem-headers", "-fno-color-diagnostics", "-fno-caret-diagnostics", *options.flags, *more, options.source]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(done.stderr)
    return done


def annotations(options):
    """(file, line, column, class name) of each annotated class of the unit."""
    depfile = ["-MD", "-MF", options.depfile, "-MT", options.output] if options.depfile else []
    found = []
    for file, line, column in WARNING.findall(clang(options, *depfile).stderr):
        with open(file, encoding="utf-8", errors="replace") as text:
            lines = text.readlines()
        nested = re.search(r"^\s*(?:inline\s+)?(namespace\s+\w+\s*::\s*[\w:]+)", "".join(lines), re.M)
        if nested:
            raise Failure(f"{file}:{line}: error: the weaver cannot parse '{nested.group(1)}' here: open one namespace in "
                          "the other\n")
        rest = "".join(lines[int(line) - 1:])[int(column) - 1:]
        if not ATTRIBUTE.match(rest):
            raise Failure(f"{file}:{line}: error: write [[NVM::transactional]] out: the weaver does not see it in a macro\n")
        head, end = re.match(r"([^{;]*)(.?)", rest.partition("]]")[2]).groups()
        if end == ";":
            continue  # Only declared; the weaver wants the attribute there as well.
        head = re.sub(r"//[^\n]*|/\*.*?\*/|\[\[.*?\]\]|\balignas\s*\([^()]*(\([^()]*\))?[^()]*\)|<.*>", " ", head, flags=re.S)
        names = re.findall(r"\w+", re.split(r"(?<!:):(?!:)|\bfinal\b", head, maxsplit=1)[0])
        found.append((file, int(line), int(column), names[-1] if names else "?"))
    return found


def syntax_trees(options, names):
    """Of the declarations whose names have those of the classes in them: a list for each run of clang, with its own ids."""
    common = os.path.commonprefix(names)
    filters = [common] if len(common) >= 4 else sorted(set(names))
    runs = []
    for each in filters:
        trees = []
        text = clang(options, "-Xclang", "-ast-dump=json", "-Xclang", f"-ast-dump-filter={each}").stdout
        decoder, at = json.JSONDecoder(), 0
        while text[at:].strip():
            at += len(text[at:]) - len(text[at:].lstrip())
            tree, at = decoder.raw_decode(text, at)
            trees.append(tree)
        refusals.settle_locations(trees, {})
        runs.append(trees)
    return runs


def check(options, annotated):
    """Refuses; returns how many functions are to be woven."""
    if not annotated:
        return 0
    runs = syntax_trees(options, [name for _, _, _, name in annotated])
    found, functions = [], 0
    for file, line, column, name in annotated:
        for trees in runs:
            record, in_template = refusals.annotated_class(trees, file, line, column)
            if record is not None:
                break
        if record is None:
            found.append((file, line, f"woven class {name}: it is no class that the weaver reaches: declare it in a "
                          "namespace, and not inside a function"))
        elif not os.path.abspath(file).startswith(os.path.join(options.project, "")):
            found.append((file, line, f"woven class {name}: it would not be woven, since this file is not below "
                          f"{options.project}: name a PROJECT directory above both"))
        else:
            later = [tree for tree in trees if tree.get("parentDeclContextId") == record["id"]]
            functions += refusals.AnnotatedClass(record, in_template, later, found).woven
    if found:
        raise Failure("".join(f"{file}:{line}: error: {text}\n" for file, line, text in found))
    return functions


def weave(options):
    command = [options.weaver, "--attributes", "--introspection", "-std=c++17", "--weave_only", "-p", options.project,
               "-p", os.path.join(HERE, "aspects"), *options.flags, "-o", options.output, options.source]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or not os.path.exists(options.output):
        raise Failure(done.stdout + done.stderr)


def substitute(pattern, replacement, text, at_least):
    text, count = re.subn(pattern, replacement, text)
    if count < at_least:
        raise Failure(f"the weaver's output is not what is known of AspectC++ 2.3: no '{pattern}' in it\n")
    return text


def check_unwoven(options, names, text):
    """What stands behind #ifndef __acweaving may use woven classes, and no more than that."""
    blocks = re.findall(r"#ifndef __acweaving\n.*?#endif", text, re.S)
    if not blocks:
        return
    defines = "|".join(re.escape(name) + r"\s*::\s*(?:~?\w+|operator[^(]*(?:\(\))?)" for name in names) or r"\Z\A"
    defined = re.search(r"\b(?:" + defines + r")\s*\([^;{}]*\)[^;{}()]*\{", "".join(blocks))
    # Of the clang that looks here what matters is what it warns of.
    looked = subprocess.run([options.clang, "-std=c++20", "-fsyntax-only", "-Wno-everything", "-Wunknown-attributes",
                             *options.flags, options.output], capture_output=True, text=True)
    if defined or WARNING.search(looked.stderr):
        raise Failure(f"{options.source}: error: what the weaver is not to see (#ifndef __acweaving) has a woven class or "
                      "defines a function of one\n")


def finish(options, names, functions):
    """What the weaver's output needs to be C++, and counts."""
    with open(options.output, encoding="utf-8") as file:
        text = file.read()
    # A pointer to the type of a const function is no type.
    text = substitute(r"inline Entity \*entity\(\) \{return \(Entity \*\)_entity;\}",
                      "inline void *entity() {return _entity;}", text, 0)
    text = substitute(r"char _data\[sizeof \(T\)\];", "alignas(T) char _data[sizeof (T)];", text, 1)
    # What only the compiler is to see, the weaver took out.
    text = re.sub(r"#ifndef __acweaving\n.*?#endif",
                  lambda block: block.group(0).replace("// commented out by ac++: #include", "#include"), text, flags=re.S)
    # Nobody derives from a woven class.
    pattern = re.compile(r"\b(\w+)(\s+final)?(\s*\{\n#line [^\n]*\n(?:public:\n)?  template <typename, int = 0> struct __BYPASS)")
    text, finals = pattern.subn(lambda head: head.group(1) + (" final" if head.group(1) in names else head.group(2) or "") +
                                head.group(3), text)
    seen = len(re.findall(r"^struct holdfast_woven\b", text, re.M))
    if seen != len(names) or finals < seen:
        raise Failure(f"{options.source}: error: {len(names)} classes are annotated and {seen} were woven: declare them in a "
                      "namespace and not inside a function\n")
    seen = len(re.findall(r"\binvoke_holdfast_runtime_\w+_around<__TJP> \(&tjp\);", text))
    if seen != functions:
        raise Failure(f"{options.source}: error: {functions} member functions are to be transactions or read the valid "
                      f"half, and the weaver made {seen} so\n")
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(text)
    check_unwoven(options, names, text)


def main():
    parser = argparse.ArgumentParser()
    for name in ("weaver", "clang", "project", "output", "depfile"):
        parser.add_argument("--" + name)
    parser.add_argument("source")
    options, options.flags = parser.parse_known_args()
    options.project = os.path.abspath(options.project)
    try:
        if os.path.exists(options.output):
            os.remove(options.output)
        annotated = annotations(options)
        functions = check(options, annotated)
        weave(options)
        finish(options, [name for _, _, _, name in annotated], functions)
    except Failure as failure:
        if os.path.exists(options.output):
            os.remove(options.output)
        sys.stderr.write(str(failure))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
