"""What the text of a source says that no syntax tree has: where an annotated class stands, and what is in its head."""

import functools
import re

ATTRIBUTE = re.compile(r"NVM\s*::\s*transactional\b")
LITERAL = re.compile(r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'",
                     re.S)
GUARDS = r"\b(?:lock_guard|unique_lock|scoped_lock|shared_lock)\b"
GUARD_MEMBER = re.compile(GUARDS + r"[^;(){}&*]*\s\w+\s*[;={]")
LOCKS = re.compile(GUARDS + r"|\b(?:pthread_\w*lock|mtx_\w*lock|sem_wait|flock|test_and_set)\b|(?:\.|->)\s*(?:try_)?lock\w*\s*\(")
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)


@functools.lru_cache(maxsize=None)
def read(file):
    with open(file, encoding="utf-8", errors="replace", newline="") as text:
        return text.read()


def spaces(text):
    return re.sub(r"[^\n]", " ", text)


@functools.lru_cache(maxsize=None)
def without_literals(text):
    """Comments and what is in quotes are spaces: every other character is where it was."""
    def blank(match):
        whole = match.group(0)
        return whole[0] + spaces(whole[1:-1]) + whole[-1] if whole[0] in "\"'" else spaces(whole)
    return LITERAL.sub(blank, text)


@functools.lru_cache(maxsize=None)
def code_of(text):
    """Neither comments nor what is in quotes nor directives, each character where it was."""
    return DIRECTIVE.sub(lambda match: spaces(match.group(0)), without_literals(text))


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def offset_of(text, line, column):
    at = 0
    for _ in range(line - 1):
        at = text.index("\n", at) + 1
    return at + column - 1


def without_brackets(head):
    """Without attributes, alignas(...) and the like, and template arguments."""
    head = re.sub(r"\[\[.*?\]\]", " ", head, flags=re.S)
    for opening, closing in ("()", "<>"):
        before = None
        while before != head:
            before = head
            head = re.sub(rf"\{opening}[^{opening}{closing}]*\{closing}", " ", head)
    return re.sub(r"\b(?:alignas|__attribute__)\b", " ", head)


def enclosing(code, offset):
    """The heads of the blocks that are open at `offset`, the outermost first, each with its offset."""
    opened, start = [], 0
    for match in re.finditer(r"[{};]", code[:offset]):
        if match.group(0) == "{":
            opened.append((start, code[start:match.start()]))
        elif match.group(0) == "}" and opened:
            opened.pop()
        start = match.end()
    return opened, code[start:offset]


class Head:
    """The head of an annotated class: `name`, whether it is `only_declared`, and what is wrong with where it stands."""

    def __init__(self, file, text, line, column):
        code = code_of(text)
        offset = offset_of(text, line, column)
        self.visible = ATTRIBUTE.match(text[offset:]) is not None
        self.name, self.only_declared, self.wrong = "?", False, None
        if not self.visible:
            self.wrong = "write [[NVM::transactional]] out: the weaver does not see it in a macro"
            return
        head, end = re.match(r"([^{;]*)(.?)", code[offset:]).groups()
        self.only_declared = end == ";"
        parts = without_brackets(head.partition("]]")[2])
        names = re.findall(r"\w+", re.split(r"(?<!:):(?!:)|\bfinal\b", parts, maxsplit=1)[0])
        blocks, before = enclosing(code, offset)
        self.name = names[-1] if names else "?"
        if not self.only_declared:
            self.wrong = self.unreachable(text, blocks, before, bool(names))

    def unreachable(self, text, blocks, before, named):
        if "typedef" in before.split():
            return f"woven class{' ' + self.name if named else ''}: it is declared in a typedef, which the weaver cannot parse: give the " \
                "class its name behind the attribute, and declare other names of it by 'using'"
        if not named:
            return "woven class without a name: write one behind the attribute, and declare objects apart from it"
        if re.search(r"\btemplate\s*<\s*>", before):
            return f"woven class {self.name}: is a specialisation of a template, which the weaver does not weave: " \
                "give it a name of its own"
        if re.search(r"\btemplate\s*<", before):
            return f"woven class {self.name}: is a template, which the weaver does not weave: write a class for each type"
        for start, head in blocks:
            if re.search(r"\btemplate\s*<", head):
                return f"woven class {self.name}: it stands in a template, which the weaver does not weave: declare it " \
                    "in a namespace"
            if re.search(r"\bextern\s*\"", head):
                if '"C++"' not in text[start:start + len(head)]:
                    return f"woven class {self.name}: it stands in extern \"C\", where the weaver's templates cannot " \
                        "be: declare it before, and only functions in there"
            elif not re.search(r"\b(?:namespace|class|struct|union)\b", head):
                return f"woven class {self.name}: it stands in a function, where the weaver does not see it: declare it " \
                    "in a namespace"
        return None


def end_of_block(code, at):
    """Of the block that is open at `at`."""
    depth = 1
    for match in re.finditer(r"[{}]", code[at:]):
        depth += 1 if match.group(0) == "{" else -1
        if depth == 0:
            return at + match.end()
    return len(code)


def class_definitions(code):
    """(name, body) of each."""
    for match in re.finditer(r"\b(?:class|struct)\s+([^;{}()=]*)\{", code):
        at = end_of_block(code, match.end())
        names = re.findall(r"\w+", re.split(r"(?<!:):(?!:)|\bfinal\b", without_brackets(match.group(1)), maxsplit=1)[0])
        if names:
            yield names[-1], code[match.end():at]


def classes_with_mutable_members(codes):
    """{name: member} of the classes defined there that have one, or have a member of a class that does."""
    bodies = [each for code in codes for each in class_definitions(code)]
    found = {}
    for name, body in bodies:
        member = re.search(r"(?<!\))\s\bmutable\b[^;(]*?(\w+)\s*(?:=[^;]*|\{[^;]*|\[[^;]*)?;", " " + body)
        if member:
            found.setdefault(name, f"{name}::{member.group(1)}")
    before = -1
    while before != len(found):
        before = len(found)
        for name, body in bodies:
            inside = next((each for each in re.findall(r"\b([A-Za-z_]\w*)(?:<[^;]*>)?\s+\w+\s*[;={\[]", body) if each in found), None)
            if inside and name not in found:
                found[name] = found[inside]
    return found


def names_that_lock(codes):
    """Of functions that take a lock, and of classes whose constructors do, or which have a guard as a member."""
    found = set()
    for code in codes:
        if not LOCKS.search(code):
            continue
        for name, body in class_definitions(code):
            made = re.search(rf"\b{name}\s*\([^;{{}}]*\)[^;{{}}]*\{{[^{{}}]*", body)
            if GUARD_MEMBER.search(body) or (made and LOCKS.search(made.group(0))):
                found.add(name)
        for match in re.finditer(r"(?<!::)\b(?!(?:if|for|while|switch|catch)\b)(\w+)\s*\([^;{}]*\)[^;{}()=]*\{", code):
            if LOCKS.search(code[match.end():end_of_block(code, match.end())]) and \
                    all(re.search(r"\b(?:namespace|extern)\b", head) for _, head in enclosing(code, match.start())[0]):
                found.add(match.group(1))
    return found


def derived_classes(code, name):
    """(offset, name) of each class of the text that names class `name` as a base."""
    bases = re.compile(r"\b(?:class|struct)\b([^;{}()=]*?)(?<!:):(?!:)([^;{}]*)\{")
    for match in bases.finditer(code):
        if re.search(rf"\b{re.escape(name)}\b(?!\s*>)", match.group(2)):
            heads = re.findall(r"\w+", without_brackets(match.group(1)).replace("final", " "))
            if heads and heads[-1] != name:
                yield match.start(), heads[-1]


def attributes_with_text(text, begin, end):
    """Offsets of attributes such as [[deprecated("so")]] in that part of the text."""
    code = without_literals(text)
    for match in re.finditer(r"\[\[[^\]]*?\(\s*\"|__attribute__\s*\(\([^;{}]*?\(\s*\"", code[begin:end]):
        yield begin + match.start()
