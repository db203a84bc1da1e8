"""For which annotated classes the aspect would not be right, seen in clang's syntax tree, with what to do instead.

The aspect runs the body of a member function with `this` at the half that is meant, and shows it the readable half of
each argument of type `const Class&`. So a body is right if it reaches members by these alone.
"""

import re

import addresses
import source_text
from bodies import Body
from syntax import inner, qualified_type, spelled

NOT_EVALUATED = {"UnaryExprOrTypeTraitExpr", "CXXNoexceptExpr"}
UNNAMED = re.compile(r"\((?:unnamed|anonymous) (?:struct|class|union|enum)")
METHODS = {"CXXMethodDecl", "CXXConversionDecl"}
MOVE_ONLY = re.compile(r"^(?:const )?std::(?:unique_ptr|unique_lock|shared_lock|thread|promise|future|packaged_task)\b(?!.*[&*]$)")


class AnnotatedClass:
    """One annotated class and the bodies of its functions in this unit. `locking` are names of what takes locks,
    `found` gets (file, line, text)."""

    def __init__(self, record, later_definitions, locking, found):
        self.record, self.name, self.locking, self.found = record, record["name"], locking, found
        self.fields, self.methods, self.woven, self.ranges = {}, {}, 0, []
        self.range_of(record)
        if record.get("tagUsed") == "union":
            return self.refuse(record, "is a union: put it into a class, as an anonymous union")
        if record.get("bases"):
            self.refuse(record, "has a base: what is in it would lie outside the two halves; make it a member")
        for member in inner(record):
            if member["kind"] == "FieldDecl":
                self.fields[member["id"]] = member
            if member["kind"] in METHODS:
                self.methods[member["id"]] = member
        self.check_members()
        self.check_attributes()
        for definition in later_definitions:
            self.range_of(definition)
            self.check_function(definition)

    def range_of(self, node):
        """Remembers (file, first line, last line)."""
        begin, end = spelled(node["range"]["begin"]), spelled(node["range"]["end"])
        if begin.get("file") == end.get("file"):
            self.ranges.append((begin["file"], begin["line"], end["line"]))

    def check_attributes(self):
        begin, end = spelled(self.record["range"]["begin"]), spelled(self.record["range"]["end"])
        text = source_text.read(begin["file"])
        opening = text.find("{", spelled(self.record["loc"])["offset"])
        for at in source_text.attributes_with_text(text, opening, end["offset"]):
            self.found.append((begin["file"], source_text.line_of(text, at), f"woven class {self.name}: the weaver cannot "
                               "parse an attribute with text inside the class: leave the text out"))

    def check_earlier(self, trees):
        """The first declaration must have the attribute, where the weaver sees it."""
        by_id = {tree["id"]: tree for tree in trees}
        earlier, tree = [], by_id.get(self.record.get("previousDecl"))
        while tree is not None and tree.get("kind") == "CXXRecordDecl":
            earlier.append(tree)
            tree = by_id.get(tree.get("previousDecl"))
        for tree in earlier:
            at, name = spelled(tree["range"]["begin"]), spelled(tree["loc"])
            if "offset" not in at or "offset" not in name:
                continue
            head = f"{tree.get('tagUsed')} [[NVM::transactional]] {self.name};"
            if not source_text.ATTRIBUTE.search(source_text.read(at["file"])[at["offset"]:name["offset"]]):
                if tree is earlier[-1]:
                    self.found.append((at["file"], at["line"], f"woven class {self.name}: it is declared without the "
                                       f"attribute here, and the first declaration must have it: write '{head}'"))
            elif self.outermost_block(tree) and self.outermost_block(tree) == self.outermost_block(self.record):
                self.found.append((at["file"], at["line"], f"woven class {self.name}: it is declared here and defined before "
                                   "the namespace ends, and the weaver looks for attributes only then: close the "
                                   f"namespace behind '{head}' and open it again"))

    @staticmethod
    def outermost_block(tree):
        """(file, where it begins), or None outside of all."""
        at = spelled(tree["range"]["begin"])
        blocks, _ = source_text.enclosing(source_text.code_of(source_text.read(at["file"])), at["offset"])
        return (at["file"], blocks[0][0]) if blocks else None

    def refuse(self, node, text):
        where = spelled(node.get("loc") or {}) if node.get("loc") else {}
        if not where.get("line"):
            where = spelled(node.get("range", {}).get("begin", {}))
        self.found.append((where.get("file", "?"), where.get("line", 0), f"woven class {self.name}: {text}"))

    def check_members(self):
        access = "public" if self.record.get("tagUsed") == "struct" else "private"
        for member in inner(self.record):
            kind, name = member["kind"], member.get("name", "an anonymous union")
            if kind == "AccessSpecDecl":
                access = member["access"]
            elif kind == "FieldDecl":
                if access != "private":
                    self.refuse(member, f"member '{name}' is {access}, and could be written outside a transaction: "
                                "make it private, with functions that read and change it")
                if "(unnamed enum" in qualified_type(member):
                    self.refuse(member, f"member '{name}' is of an enumeration without a name, which the weaver cannot "
                                "write: name the enumeration")
                elif "decltype(" in member["type"]["qualType"] and not qualified_type(member).endswith("*") and \
                        not addresses.kind_of_number(qualified_type(member)):
                    self.refuse(member, f"member '{name}' is declared by decltype, which the weaver cannot write: write the "
                                "type, or give it a name by 'using'")
                if member.get("mutable"):
                    self.refuse(member, f"member '{name}' is mutable, and a const function is no transaction: "
                                "make the function that changes it non-const")
                self.walk(member, Body(self, "initializer"))
            elif kind == "FriendDecl":
                self.refuse(member, "has a friend, whose accesses the weaver does not see: "
                            "give it a member function to call")
            elif kind == "FunctionTemplateDecl":
                self.refuse(member, f"function template '{name}' would not be woven: write one function for each type")
            elif kind == "CXXRecordDecl" and not member.get("isImplicit"):
                self.check_mutable(member)
                for nested in inner(member):
                    self.walk(nested, Body(self, "nested"))
                if not member.get("name") and not self.copied_as_bytes(member):
                    self.refuse(member, "an anonymous union has a member that is not trivially copyable")
            elif kind in METHODS or kind in ("CXXConstructorDecl", "CXXDestructorDecl"):
                self.check_function(member)

    @staticmethod
    def copied_as_bytes(record):
        data = record.get("definitionData", {})
        return bool(data.get("copyCtor", {}).get("trivial")) and bool(data.get("dtor", {}).get("trivial"))

    def check_function(self, function):
        kind, name = function["kind"], function.get("name")
        if function.get("virtual"):
            return self.refuse(function, f"'{name}' is virtual: a pointer to the table of functions would lie in the "
                               "line; leave 'virtual' out")
        if function.get("isImplicit") or function.get("explicitlyDefaulted") or function.get("explicitlyDeleted"):
            return
        body = next((each for each in inner(function) if each["kind"] in ("CompoundStmt", "CXXTryStmt")), None)
        if kind == "CXXConstructorDecl":
            if function.get("constexpr"):
                self.refuse(function, "a constructor is constexpr, and that of a line is not: leave 'constexpr' out")
            for each in inner(function):
                self.walk(each, Body(self, "initializer" if each["kind"] == "CXXCtorInitializer" else "constructor"))
            return
        if kind == "CXXDestructorDecl":
            return self.walk(body, Body(self, "destructor"))
        static = self.is_static(function)
        if static and function.get("constexpr"):
            return self.walk(body, Body(self, "static"))
        self.check_signature(function, body)
        if body:
            self.woven += 1
            if body["kind"] == "CXXTryStmt":
                self.refuse(function, f"the body of '{name}' is a try block, which the weaver leaves alone: "
                            "put it inside braces")
            shown = {each["id"] for each in inner(function)
                     if each["kind"] == "ParmVarDecl" and re.fullmatch(r"const .*[^&]&", qualified_type(each))}
            self.walk(body, Body(self, "static") if static else Body(self, "function", shown, function))

    def check_mutable(self, record):
        for member in inner(record):
            if member["kind"] == "FieldDecl" and member.get("mutable"):
                self.refuse(member, f"member '{member.get('name')}' is mutable, and a const function is no transaction: "
                            "make the function that changes it non-const")
            elif member["kind"] in ("CXXRecordDecl", "ClassTemplateDecl", "ClassTemplateSpecializationDecl") and \
                    not member.get("isImplicit"):
                self.check_mutable(member)

    def types_of_members(self):
        """(member, name of the class that it is of)."""
        for field in self.fields.values():
            for of in (field["type"]["qualType"], qualified_type(field)):
                names = re.findall(r"[A-Za-z_]\w*", re.sub(r"<.*>|\[.*", "", of))
                if names and "*" not in of:
                    yield field, names[-1]

    def is_static(self, function):
        function = self.methods.get(function.get("previousDecl"), function)  # Outside of the class nothing says so.
        name = function.get("name", "")
        return function.get("storageClass") == "static" or name.startswith(("operator new", "operator delete"))

    def is_class(self, type_name):
        return type_name.removeprefix("const ").removeprefix("volatile ").split("::")[-1].strip() == self.name

    def written(self, function, body):
        """The function's head as it stands in the source."""
        begin, end = spelled(function["range"]["begin"]), spelled((body or function)["range"]["begin" if body else "end"])
        if begin.get("file") != end.get("file") or "offset" not in begin:
            return ""
        return source_text.without_literals(source_text.read(begin["file"])[begin["offset"]:end["offset"]])

    def check_result(self, function, body):
        """What the weaver would write otherwise than it stands there."""
        name, head = function.get("name"), self.written(function, body)
        if re.search(r"\bdecltype\s*\(\s*auto\s*\)", head):
            self.refuse(function, f"'{name}' returns decltype(auto), of which the weaver makes another type: write the "
                        "type, or 'auto' for a value")
        elif re.search(r"->\s*decltype\b", head):
            self.refuse(function, f"'{name}' has a trailing decltype, which the weaver cannot move: write the type, or "
                        "'auto' without a trailing type")
        elif re.search(r"\bdecltype\s*\(", head):
            self.refuse(function, f"'{name}' has a decltype in its type, which the weaver cannot write: write the type, or "
                        "give it a name by 'using'")
        signature = qualified_type(function)
        if UNNAMED.search(signature):
            return self.refuse(function, f"'{name}' takes or returns what has a type without a name, which the weaver cannot "
                               "write: name the type")
        returned = signature.split("(")[0].strip()
        if returned.endswith("*const"):
            self.refuse(function, f"'{name}' returns '{returned}', which the weaver cannot hand on: leave the last 'const' "
                        "out, which means nothing for a returned value")
        elif returned.startswith("const ") and not returned.endswith(("&", "*", "const")) and "->" not in signature:
            self.refuse(function, f"'{name}' returns '{returned}', which the weaver cannot hand on: leave 'const' out, "
                        "which means nothing for a returned value")
        elif re.search(r"\bauto\b", head.split("(")[0]) and "->" not in head and re.search(r"\w<", returned):
            self.refuse(function, f"'{name}' returns 'auto', which is '{returned}' here, and the weaver leaves out the part "
                        "in angle brackets: write the type")
        elif signature.startswith("(lambda"):
            self.refuse(function, f"'{name}' returns a lambda, whose type the weaver cannot write: return a value")
        if re.search(r"\)[^)]*&&", re.sub(r"noexcept\s*\(.*?\)", "", signature).split("->")[0]):
            self.refuse(function, f"'{name}' is for objects that end ('&&' behind its parameters), which no object in a "
                        "pool is: leave '&&' out")

    def check_signature(self, function, body):
        name, signature = function.get("name"), qualified_type(function)
        self.check_result(function, body)
        if function.get("constexpr"):
            self.refuse(function, f"'{name}' is constexpr, and the weaver would leave it alone: leave 'constexpr' out")
        if name == "operator&" and not any(each["kind"] == "ParmVarDecl" for each in inner(function)):
            self.refuse(function, "'operator&' would hide where the object is: give the function a name")
        if function.get("variadic"):
            self.refuse(function, f"'{name}' takes '...', which the weaver cannot hand on: name its parameters")
        for parameter in inner(function):
            if parameter["kind"] == "ParmVarDecl" and qualified_type(parameter).endswith("&&"):
                self.refuse(function, f"'{name}' takes an rvalue reference, which the weaver cannot hand on: "
                            "take a value or a const reference")
            elif parameter["kind"] == "ParmVarDecl" and MOVE_ONLY.match(qualified_type(parameter)):
                self.refuse(function, f"'{name}' takes '{qualified_type(parameter)}', which cannot be copied, and the "
                            "weaver hands on copies: take a reference")
        returned = signature.split(" -> ")[-1] if signature.startswith("auto (") else signature.split("(")[0]
        returned = returned.strip()
        if returned.endswith("&&"):
            return self.refuse(function, f"'{name}' returns '{returned}', by which the object could be written outside a "
                               "transaction: return a value or a const reference")
        if self.is_static(function):
            return
        target = returned[:-1].strip() if returned.endswith(("&", "*")) else ""
        if target and not target.startswith("const ") and not target.endswith("const") and not self.is_class(target):
            of_members = {qualified_type(field).split("[")[0].strip() for field in self.fields.values()}
            if returned.endswith("&") or returned not in of_members:
                self.refuse(function, f"'{name}' returns '{returned}', by which the object could be written outside a "
                            "transaction: return a value or something const")

    def walk(self, node, body, parents=()):
        if not isinstance(node, dict) or node.get("kind") in NOT_EVALUATED:
            return
        body.look(node, parents)
        for each in inner(node):
            self.walk(each, body, parents + (node,))


def annotated_class(trees, file, line, column):
    """The record of the class whose attribute is at that place."""
    def search(node):
        if node.get("kind") == "CXXRecordDecl" and node.get("completeDefinition") and not node.get("isImplicit"):
            begin, name = spelled(node["range"]["begin"]), spelled(node["loc"])
            if begin.get("file") == file and (begin["line"], begin["col"]) <= (line, column) <= (name["line"], name["col"]):
                return node
        for each in inner(node):
            if each["kind"] in ("CXXRecordDecl", "NamespaceDecl", "ClassTemplateDecl", "LinkageSpecDecl"):
                found = search(each)
                if found is not None:
                    return found
        return None

    return next(filter(None, map(search, trees)), None)
