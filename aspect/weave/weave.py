#!/usr/bin/env python3
"""Weaves one C++17 source: holdfast_add_woven_sources of holdfast_weave.cmake runs it.

    weave.py --weaver AG++ --clang CLANG++ --project DIRECTORY --output OUT.cc [--depfile FILE]
             [--compiler CXX] SOURCE [FLAG...]

FLAGs are those of the compiler; the weaver gets -I, -isystem, -D, -U and -O of them. First the source's text and clang's
syntax tree say whether each annotated class is one for which the aspect is right (source_text.py, refusals.py), and the
preprocessors of both whether they see the same of it (conditions.py): if not, the messages are those of a compiler and
nothing is written. Then AspectC++ weaves, and the result is compared with what the tree had: no function may have been
left alone.
"""

import argparse
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import conditions  # noqa: E402
import refusals  # noqa: E402
import source_text  # noqa: E402
import syntax  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
WARNING = re.compile(r"^(.*):(\d+):(\d+): warning: unknown attribute 'transactional' ignored", re.M)


class Failure(Exception):
    pass


def refuse(found):
    if found:
        found = sorted(dict.fromkeys(found), key=lambda each: (each[0], each[1]))
        raise Failure("".join(f"{file}:{line}: error: {text}\n" for file, line, text in found))


def clang_command(options):
    # What the weaver sees, it is to see.
    optimized = ["-O1"] if "__OPTIMIZE__" in options.defined else []
    return [options.clang, "-std=c++17", "-D__acweaving=1", *optimized, "-fsyntax-only", "-Wno-everything", "-Wunknown-attributes",
            "-Wsystem-headers", "-fno-color-diagnostics", "-fno-caret-diagnostics", *options.flags]


def clang(options, *more):
    done = subprocess.run([*clang_command(options), *more, options.source], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(re.sub(r"(?:In file included from .*\n)*.*: warning: unknown attribute .*\n", "", done.stderr))
    return done


def annotations(options):
    """(file, line, column, class name) of each annotated class of the unit."""
    depfile = ["-MD", "-MF", options.depfile, "-MT", options.output] if options.depfile else []
    annotated, found = [], []
    for file, line, column in WARNING.findall(clang(options, *depfile).stderr):
        text = source_text.read(file)
        nested = re.search(r"^\s*(?:inline\s+)?(namespace\s+\w+\s*::\s*[\w:]+)", source_text.code_of(text), re.M)
        if nested:
            found.append((file, int(line), f"the weaver cannot parse '{nested.group(1)}' here: open one namespace in the "
                          "other"))
        head = source_text.Head(file, text, int(line), int(column))
        if head.wrong:
            found.append((file, int(line), head.wrong))
        if not head.only_declared:  # The weaver wants the attribute there as well.
            annotated.append((file, int(line), int(column), head.name))
    return annotated, found


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
        syntax.settle_locations(trees, {})
        runs.append(trees)
    return runs


def check_mutable_members(classes, files):
    """Members of classes that stand elsewhere: one that is mutable changes in a const function."""
    codes = [source_text.code_of(source_text.read(file)) for file in files if not file.startswith("/usr/")]
    if not any("mutable" in code for code in codes):
        return
    with_one = source_text.classes_with_mutable_members(codes)
    for each in classes:
        for field, of in each.types_of_members():
            if of in with_one:
                each.refuse(field, f"a member's member '{with_one[of]}' is mutable, and a const function is no transaction: "
                            "make the function that changes it non-const")


def check(options, annotated, found):
    """Refuses; returns the classes."""
    if not annotated:
        refuse(found)
        return []
    runs = syntax_trees(options, [name for _, _, _, name in annotated])
    codes = [source_text.code_of(source_text.read(file)) for file in options.files if not file.startswith("/usr/")]
    classes, locking = [], source_text.names_that_lock(codes)
    for file, line, column, name in annotated:
        if any(file == other and line == at for other, at, _ in found):
            continue
        for trees in runs:
            record = refusals.annotated_class(trees, file, line, column)
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
            classes.append(refusals.AnnotatedClass(record, later, locking, found))
            classes[-1].check_earlier(trees)
    return classes


def in_project(options, files):
    return [file for file in files if os.path.abspath(file).startswith(os.path.join(options.project, ""))]


def check_sight(options, classes, found):
    """Whether the weaver and the compiler see the same of the classes; returns which of NDEBUG and __OPTIMIZE__ decide
    what macros in them mean."""
    ranges, names = {}, sorted({each.name for each in classes})
    for each in classes:
        for file, first, last in each.ranges:
            ranges.setdefault(file, []).append((each.name, first, last))
    seen, files = options.seen, options.files
    check_mutable_members(classes, files)
    own = sorted(set(in_project(options, files)))
    defines = conditions.Definitions(names, own)
    for file in own:
        conditions.check_file(file, ranges.get(file, []), defines, found)
        code = source_text.code_of(source_text.read(file))
        for name in names:
            for at, derived in source_text.derived_classes(code, name):
                found.append((file, source_text.line_of(code, at), f"woven class {name}: '{derived}' derives from it, and "
                              "would have members beyond its line: make it a member"))
    if not options.compiler or seen is None:
        return []
    compiled, more = conditions.macros([options.compiler, *options.compiler_flags, "-w", "-x", "c++", options.source])
    if compiled is None:
        return []  # The compiler will say why.
    known = set(map(os.path.abspath, files))
    conditions.check_unseen_files([file for file in in_project(options, more) if os.path.abspath(file) not in known],
                                  defines, found)
    if not conditions.check_macros(ranges, seen, compiled, found):
        return []
    other = {"NDEBUG": "-UNDEBUG" if "NDEBUG" in options.defined else "-DNDEBUG",
             "__OPTIMIZE__": "-O0" if "__OPTIMIZE__" in options.defined else "-O1"}
    deciding = []
    for flags in (["NDEBUG"], ["__OPTIMIZE__"], ["NDEBUG", "__OPTIMIZE__"]):
        otherwise = conditions.macros([*clang_command(options), *(other[flag] for flag in flags), options.source])[0]
        differing = []
        conditions.check_macros(ranges, seen, otherwise or seen, differing)
        if differing and not set(flags) & set(deciding):
            deciding += flags
    return deciding


def weave(options, annotated):
    optimized = ["-D__OPTIMIZE__=1"] if "__OPTIMIZE__" in options.defined else []
    command = [options.weaver, "--attributes", "--introspection", "-std=c++17", "--weave_only", "-p", options.project,
               "-p", os.path.join(HERE, "aspects"), *options.flags, *optimized, "-o", options.output, options.source]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or not os.path.exists(options.output):
        said = done.stdout + done.stderr
        found = []
        for text, name in re.findall(r"static_assert failed[^\n]*\"woven class: ([^\"\n]*)\"(?:\n(?!.*static_assert failed).*)*?"
                                     r"woven::check<(?:\w+::)*(\w+),", said):
            found += [(file, line, f"woven class {name}: {text}") for file, line, _, each in annotated if each == name]
        refuse(found)
        raise Failure(said)


def substitute(pattern, replacement, text, at_least):
    text, count = re.subn(pattern, replacement, text)
    if count < at_least:
        raise Failure(f"the weaver's output is not what is known of AspectC++ 2.3: no '{pattern}' in it\n")
    return text


def check_unwoven(options, text):
    """What stands behind #ifndef __acweaving may use woven classes, and no more than that."""
    if "#ifndef __acweaving\n" not in text:
        return
    # Of the clang that looks here what matters is what it warns of.
    looked = subprocess.run([options.clang, "-std=c++20", "-fsyntax-only", "-Wno-everything", "-Wunknown-attributes",
                             *options.flags, options.output], capture_output=True, text=True)
    warned = WARNING.search(looked.stderr)
    if warned:
        raise Failure(f"{warned.group(1)}:{warned.group(2)}: error: {conditions.UNSEEN}\n")


# Asserted in each woven function, at its own line: what only the compiler knows of types.
SIGNATURE = (
    ("keeps_the_object", "woven class: this function returns a pointer, a reference or an iterator, by which the object "
     "could be written outside a transaction: return a value or something const"),
    ("result_is_copied", "woven class: this function returns an object that cannot be copied byte by byte, which the "
     "weaver does to hand it on: return a const reference, or fill an object that the caller passes"),
    ("arguments_are_copied", "woven class: this function takes a value that cannot be copied, and the weaver hands on "
     "copies: take a reference"),
)


def assert_signatures(options, text):
    """Returns the text, and in how many functions it asserts."""
    asserts = [f' static_assert(holdfast::woven::signature<__TJP, __TJP_0>::{name}, "{said}");' for name, said in SIGNATURE]
    where, lines, count = "", text.split("\n"), 0
    for number, line in enumerate(lines):
        directive = re.match(r'#line (\d+ "(.*)")', line)
        if directive and os.path.abspath(directive.group(2)) != os.path.abspath(options.output):
            where = directive.group(1)
        elif re.match(r"  typedef TJP__\w+< .* > __TJP;$", line):
            # A static function has no object that it could hand out.
            first = 0 if any(each.endswith("*)this;") for each in lines[number + 1:number + 8]) else 1
            lines[number] = f'{line}\n#line {where}\n{"".join(asserts[first:])}\n#line {number + 2} "{options.output}"'
            count += 1
    return "\n".join(lines), count


FLAGS_AS_WOVEN = """#if {conditions}
#error "{name} was woven with other flags than these, and macros in its classes depend on {flags}"
#endif
"""


def finish(options, names, functions, deciding):
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
    text, asserted = assert_signatures(options, text)
    if asserted != functions:
        raise Failure(f"{options.source}: error: the weaver's output is not what is known of AspectC++ 2.3: of {functions} "
                      f"functions {asserted} were found\n")
    if deciding:
        changed = (f"{'!' if flag in options.defined else ''}defined({flag})" for flag in deciding)
        text = FLAGS_AS_WOVEN.format(conditions=" || ".join(changed), name=os.path.basename(options.source),
                                     flags=" and ".join(deciding).replace("__OPTIMIZE__", "-O")) + text
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(text)
    check_unwoven(options, text)


def split_flags(options, flags):
    """The weaver takes some of what the compiler takes."""
    options.flags, options.compiler_flags, following = [], [], False
    for flag in flags:
        options.compiler_flags.append(flag)
        if following or re.match(r"-[IDUO].|-isystem.", flag):
            options.flags.append(flag)
            following = False
        elif flag in ("-I", "-D", "-U", "-isystem"):
            options.flags.append(flag)
            following = True
    # Of flags that contradict each other the last one holds.
    options.defined, words = set(), re.sub(r"^(-[DU])\n", r"\1", "\n".join(flags), flags=re.M)
    for letter, name in re.findall(r"^-([DUO])(\w*)", words, re.M):
        if letter == "U" or (letter == "O" and name == "0"):
            options.defined.discard("__OPTIMIZE__" if letter == "O" else name)
        else:
            options.defined.add("__OPTIMIZE__" if letter == "O" else name)


def main():
    parser = argparse.ArgumentParser()
    for name in ("weaver", "clang", "compiler", "project", "output", "depfile"):
        parser.add_argument("--" + name)
    parser.add_argument("source")
    options, flags = parser.parse_known_args()
    split_flags(options, flags)
    options.project = os.path.abspath(options.project)
    try:
        if os.path.exists(options.output):
            os.remove(options.output)
        annotated, found = annotations(options)
        options.seen, options.files = conditions.macros([*clang_command(options), options.source])
        classes = check(options, annotated, found)
        deciding = check_sight(options, classes, found)
        refuse(found)
        weave(options, annotated)
        finish(options, [name for _, _, _, name in annotated], sum(each.woven for each in classes), deciding)
    except Failure as failure:
        if os.path.exists(options.output):
            os.remove(options.output)
        sys.stderr.write(str(failure))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
