"""What the weaver sees of a woven class and the compiler does not, or the other way round.

The weaver works on C++17 with macros of its own. Text that either leaves out would be compiled without a transaction, or
would not have been looked at: no condition of the preprocessor may have to do with a woven class, and the macros that
it uses must mean the same to both. Only what stands behind #ifndef __acweaving is known to be the compiler's alone.
"""

import os
import re
import subprocess
import tempfile

import source_text

UNSEEN = ("what the weaver is not to see (#ifndef __acweaving) has a woven class or defines a function of one")
SHOWN_DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)", re.S)


class Group:
    """From an #if to its #endif, in lines that count from 1."""

    def __init__(self, first, kind, condition):
        self.first, self.last, self.kind, self.condition = first, first, kind, condition
        self.branches = [first]

    def text(self, lines):
        return "\n".join(lines[self.first - 1:self.last])

    def hides_from_the_weaver(self):
        return self.kind == "ifndef" and self.condition == "__acweaving"


def directives(text):
    """(line, last line, kind, rest) of each."""
    code = source_text.without_literals(text)
    for match in source_text.DIRECTIVE.finditer(code):
        shown = SHOWN_DIRECTIVE.match(match.group(0))
        if shown:
            first = source_text.line_of(code, match.start() + len(match.group(0)) - len(match.group(0).lstrip()))
            yield first, first + match.group(0).strip().count("\n"), shown.group(1), shown.group(2).strip()


def groups(text):
    """Those of the text that are no include guard."""
    opened, found, guard = [], [], None
    every = list(directives(text))
    code = source_text.code_of(text)
    for at, (line, _, kind, rest) in enumerate(every):
        if kind in ("if", "ifdef", "ifndef"):
            opened.append(Group(line, kind, rest))
            before = code.split("\n")[:line - 1]
            follows = every[at + 1][2:] if at + 1 < len(every) else ("", "")
            if not opened[1:] and not found and kind == "ifndef" and not "".join(before).strip() and \
                    follows[0] == "define" and follows[1].split()[:1] == [rest]:
                guard = opened[0]
        elif kind in ("else", "elif") and opened:
            opened[-1].branches.append(line)
        elif kind == "endif" and opened:
            group = opened.pop()
            group.last = line
            behind = code.split("\n")[line:]
            if group is not guard or len(group.branches) > 1 or "".join(behind).strip():
                found.append(group)
    return found


class Definitions:
    """How a text defines functions of the classes, outside of them: by a name of the class, or by a macro of the program."""

    def __init__(self, names, files):
        self.classes, self.macros, said, macros = {name: name for name in names}, {}, [], []
        for file in files:
            text = source_text.without_literals(source_text.read(file))
            said += re.findall(r"\busing\s+(\w+)\s*=\s*(?:[\w\s]*::\s*)*(\w+)\s*;", text)
            said += [(name, of) for of, name in re.findall(r"\btypedef\s+(?:[\w\s]*::\s*)*(\w+)\s+(\w+)\s*;", text)]
            macros += re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n]*\\\n)*[^\n]*)", text, re.M)
        said += [(name, text.split("::")[-1].strip()) for name, text in macros if re.fullmatch(r"[\w\s:]+", text)]
        before = 0
        while before != len(self.classes):
            before = len(self.classes)
            self.classes.update((name, self.classes[of]) for name, of in said if of in self.classes and name not in self.classes)
        every = "|".join(re.escape(name) for name in self.classes)
        self.pattern = re.compile(rf"\b({every})\s*::\s*(?:~?\w+|operator[^(;{{}}]*(?:\(\s*\))?)\s*\([^;{{}}]*\)[^;{{}}()]*"
                                  r"(?:\([^()]*\)[^;{}()]*)*\{")
        for name, text in macros:
            shown = self.pattern.search(text)
            if shown:
                self.macros[name] = self.classes[shown.group(1)]

    def search(self, text):
        """(class, offset) of the first, or None."""
        shown = self.pattern.search(text)
        if shown:
            return self.classes[shown.group(1)], shown.start()
        used = next((each for each in re.finditer(r"\b\w+\b", text) if each.group(0) in self.macros), None)
        return (self.macros[used.group(0)], used.start()) if used else None

    def handed_to_macros(self, code):
        """(class, offset) of those that stand in the argument of a macro."""
        for shown in self.pattern.finditer(code):
            blocks, before = source_text.enclosing(code, shown.start())
            if before.count("(") > before.count(")") and all(re.search(r"\b(?:namespace|extern)\b", head) for _, head in blocks):
                yield self.classes[shown.group(1)], shown.start()


def has_annotated(text):
    return re.search(r"\[\[[^\]]*" + source_text.ATTRIBUTE.pattern, source_text.without_literals(text)) is not None


def check_file(file, ranges, defines, found):
    """`ranges` are the lines of woven classes and of their functions in this file, each with the class's name."""
    text = source_text.read(file)
    lines = source_text.without_literals(text).split("\n")
    for group in groups(text):
        body = group.text(lines)
        near = next((name for name, first, last in ranges if group.first <= last and first <= group.last), None)
        if group.hides_from_the_weaver() and len(group.branches) == 1:
            if near is not None:
                found.append((file, group.first, f"woven class {near}: what the weaver is not to see (#ifndef __acweaving) is "
                              "in it or its functions, and would be no transaction: write it outside, and call it"))
            elif defines.search(body) or has_annotated(body):
                found.append((file, group.first, UNSEEN))
            continue
        if near is None:
            near, _ = defines.search(body) or (None, 0)
        if near is None and has_annotated(body):
            near = "?"
        if near is not None:
            found.append((file, group.first, f"woven class {near}: '#{group.kind} {group.condition}' decides what is in it "
                          "or its functions, and the weaver may decide otherwise than the compiler: write it without a "
                          "condition, or let CMake choose the source"))
    code = source_text.code_of(text)
    for name, at in defines.handed_to_macros(code):
        found.append((file, source_text.line_of(code, at), f"woven class {name}: a function of it stands in the argument of a "
                      "macro, which may mean one thing to the weaver and another to the compiler: write it without"))
    for line, _, kind, rest in directives(text):
        for name, first, last in ranges:
            if first < line < last and kind == "pragma" and re.match(r"omp\s+(?:critical|atomic|ordered)\b", rest):
                found.append((file, line, f"woven class {name}: '#pragma {rest}' takes a lock, inside a function whose "
                              "transaction copied the object before: let the caller hold it around the call"))
            if first < line < last and kind in ("include", "undef", "define"):
                said = "includes a file" if kind == "include" else f"'#{kind} {rest.split('(')[0].split(' ')[0]}'"
                found.append((file, line, f"woven class {name}: {said} in the middle of it or its functions: "
                              "write that outside"))
                break


def macros(command):
    """{name: definition} and the files, as the preprocessor of that command has them at the end of the source."""
    with tempfile.TemporaryDirectory() as directory:
        files = os.path.join(directory, "files")
        done = subprocess.run([*command, "-E", "-dM", "-MD", "-MF", files, "-MT", "x"], capture_output=True, text=True)
        if done.returncode != 0:
            return None, []
        with open(files, encoding="utf-8") as text:
            names = text.read().partition(":")[2].replace("\\\n", " ")
    found = {}
    for line in done.stdout.splitlines():
        shown = re.match(r"#define (\w+)(\([^)]*\))?\s?(.*)", line)
        if shown:
            # Compilers print spaces in ways of their own.
            found[shown.group(1)] = re.sub(r"\s+", "", (shown.group(2) or "") + " " + shown.group(3))
    return found, [name.replace("\\ ", " ") for name in re.findall(r"(?:\\ |\S)+", names)]


def different(name, seen, compiled, asked):
    """The macro, of those that `name` is made of, that is not the same to both; `asked` are known to be the same."""
    if name in asked or name.startswith("__") or (name not in seen and name not in compiled):
        return None
    asked.add(name)
    if seen.get(name) != compiled.get(name):
        return name
    for each in re.findall(r"\b[A-Za-z_]\w*", seen[name]):
        inside = different(each, seen, compiled, asked)
        if inside:
            return inside
    return None


def check_macros(ranges_of, seen, compiled, found):
    """Returns whether a woven class uses macros that the program defines."""
    used = False
    for file, ranges in ranges_of.items():
        lines = source_text.code_of(source_text.read(file)).split("\n")
        for name, first, last in ranges:
            reported = set()
            for line in range(first, last + 1):
                for word in re.findall(r"\b[A-Za-z_]\w*", lines[line - 1]):
                    other = different(word, seen, compiled, set())
                    used = used or (word in seen and not word.startswith("__"))
                    if other and word not in reported:
                        reported.add(word)
                        found.append((file, line, f"woven class {name}: macro '{other}' means one thing to the weaver and "
                                      "another to the compiler: write what is meant"))
    return used


def check_unseen_files(files, defines, found):
    """Files that only the compiler includes."""
    for file in files:
        text = source_text.read(file)
        code = source_text.without_literals(text)
        defined = defines.search(code)
        if defined or has_annotated(text):
            found.append((file, source_text.line_of(code, defined[1]) if defined else 1, UNSEEN))
