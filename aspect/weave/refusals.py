"""For which annotated classes the aspect would not be right, seen in clang's syntax tree, with what to do instead.

The aspect runs the body of a member function with `this` at the half that is meant, and shows it the readable half of
each argument of type `const Class&`. So a body is right if it reaches members by these alone.
"""

import re

NOT_EVALUATED = {"UnaryExprOrTypeTraitExpr", "CXXNoexceptExpr"}
TRANSPARENT = {"ImplicitCastExpr", "ParenExpr", "ExprWithCleanups", "MaterializeTemporaryExpr"}
METHODS = {"CXXMethodDecl", "CXXConversionDecl"}


def settle_locations(node, at):
    """clang leaves out a file or line that is the one before's: writes them into each location."""
    if isinstance(node, list):
        for each in node:
            settle_locations(each, at)
    elif isinstance(node, dict):
        if "offset" in node:
            at["file"] = node.setdefault("file", at.get("file"))
            at["line"] = node.setdefault("line", at.get("line"))
        for value in node.values():
            if isinstance(value, (dict, list)):
                settle_locations(value, at)


def inner(node):
    return [each for each in node.get("inner", []) if each.get("kind")]


def spelled(location):
    return location.get("expansionLoc", location)


def qualified_type(node):
    """Past the names that the program has for types."""
    of = node.get("type", {})
    return of.get("desugaredQualType", of.get("qualType", ""))


def stripped(node):
    while node.get("kind") in TRANSPARENT and inner(node):
        node = inner(node)[0]
    return node


def is_this(node):
    """`this` or `*this`."""
    node = stripped(node)
    if node.get("kind") == "UnaryOperator" and node.get("opcode") == "*":
        node = stripped(inner(node)[0])
    return node.get("kind") == "CXXThisExpr"


def address_of(node):
    """What `node` is the address of: by `&`, or since it is an array."""
    while node.get("kind") in TRANSPARENT and inner(node):
        if node.get("castKind") == "ArrayToPointerDecay":
            return inner(node)[0]
        node = inner(node)[0]
    return inner(node)[0] if node.get("kind") == "UnaryOperator" and node.get("opcode") == "&" else None


class AnnotatedClass:
    """One annotated class and the bodies of its functions in this unit. `found` gets (file, line, text)."""

    def __init__(self, record, in_template, later_definitions, found):
        self.record, self.name, self.found = record, record["name"], found
        self.fields, self.methods, self.woven = {}, {}, 0
        if in_template:
            return self.refuse(record, "is a template, which the weaver does not weave: write a class for each type")
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
        for definition in later_definitions:
            self.check_function(definition)

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
        if static and (function.get("constexpr") or name.startswith("operator ")):
            return self.walk(body, Body(self, "static"))
        self.check_signature(function)
        if body:
            self.woven += 1
            if body["kind"] == "CXXTryStmt":
                self.refuse(function, f"the body of '{name}' is a try block, which the weaver leaves alone: "
                            "put it inside braces")
            shown = {each["id"] for each in inner(function)
                     if each["kind"] == "ParmVarDecl" and re.fullmatch(r"const .*[^&]&", qualified_type(each))}
            self.walk(body, Body(self, "static") if static else Body(self, "function", shown, function))

    def is_static(self, function):
        function = self.methods.get(function.get("previousDecl"), function)  # Outside of the class nothing says so.
        name = function.get("name", "")
        return function.get("storageClass") == "static" or name.startswith(("operator new", "operator delete"))

    def is_class(self, type_name):
        return type_name.removeprefix("const ").removeprefix("volatile ").split("::")[-1].strip() == self.name

    def check_signature(self, function):
        name, signature = function.get("name"), qualified_type(function)
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
        returned = signature.split(" -> ")[-1] if signature.startswith("auto (") else signature.split("(")[0]
        returned = returned.strip()
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


class Body:
    """The rules for one place from which members may be reached."""

    def __init__(self, of, place, shown=(), function=None):
        self.of, self.place, self.shown, self.function = of, place, shown, function
        self.locals = set()

    def look(self, node, parents):
        kind = node.get("kind")
        if kind == "VarDecl" and node.get("storageClass") != "static":
            self.locals.add(node["id"])
        elif kind in ("VarDecl", "CXXCtorInitializer", "BinaryOperator"):
            self.look_at_stored_address(node)
        if kind == "MemberExpr":
            self.look_at_member(node)
        elif kind == "CXXThisExpr" and not node.get("implicit"):
            if self.place != "nested" and not self.may_use_this(parents):
                self.of.refuse(node, "'this' is the half that is meant and not the object: use it to name a member, "
                               "return it, or let the caller pass the object")
        elif kind == "DeclRefExpr":
            target = node.get("referencedDecl", {})
            if target.get("id") in self.of.fields:
                self.of.refuse(node, f"a pointer to member '{target.get('name')}' would reach past its transaction: "
                               "name the member, or point to a member function")
            elif self.is_shown(node) and not self.may_use_argument(parents):
                self.of.refuse(node, f"'{target.get('name')}' is shown as one half of the object and cannot be passed "
                               "on: read its members here, or call its functions")

    def look_at_stored_address(self, node):
        """Where it is kept in more than a local variable, an address of a member outlives its transaction."""
        operands = inner(node)
        if node["kind"] == "BinaryOperator":
            if node.get("opcode") != "=" or stripped(operands[0]).get("referencedDecl", {}).get("id") in self.locals:
                return
        of = stripped(address_of(operands[-1]) or {}) if operands else {}
        while of.get("kind") in ("MemberExpr", "ArraySubscriptExpr"):
            if of.get("referencedMemberDecl") in self.of.fields:
                return self.of.refuse(node, "the address of a member is kept, and would be in the wrong half after the "
                                      "next transaction: keep an index, or take the address where it is used")
            of = stripped(inner(of)[0])

    def look_at_member(self, node):
        member, base = node.get("referencedMemberDecl"), inner(node)[0] if inner(node) else {}
        if member in self.of.fields:
            name = self.of.fields[member].get("name", "an anonymous union")
            if self.place == "destructor":
                self.of.refuse(node, f"the destructor names member '{name}': let it call a member function, which "
                               "finds the valid half")
            elif is_this(base):
                if self.place in ("static", "nested"):
                    self.of.refuse(node, f"'{name}' is named outside a member function")
            elif not self.is_shown(stripped(base)):
                self.of.refuse(node, f"member '{name}' of another object is named: call a member function of that "
                               f"object, or take it as a parameter of type 'const {self.of.name} &'")
        elif member in self.of.methods and is_this(base):
            method = self.of.methods[member]
            if self.place == "initializer" and not self.of.is_static(method):
                self.of.refuse(node, f"an initializer calls member function '{method['name']}' before the index says "
                               "which half is valid: use a static function")
            constant = ") const" in qualified_type(method)
            if self.place == "constructor" and not constant and not self.of.is_static(method):
                self.of.refuse(node, f"a constructor calls '{method['name']}', whose transaction would change the half "
                               "in the middle of it: use a static function for what both do")

    def is_shown(self, node):
        """Whether it is an argument of which the function sees the readable half."""
        return node.get("kind") == "DeclRefExpr" and node.get("referencedDecl", {}).get("id") in self.shown and \
            self.of.is_class(qualified_type(node))

    def may_use_this(self, parents):
        up = [each for each in parents if each.get("kind") not in TRANSPARENT]
        if not up:
            return False
        if up[-1]["kind"] == "UnaryOperator" and up[-1].get("opcode") == "*":
            up.pop()
            returned = "&"
        else:
            returned = "*"
        last = up[-1] if up else {}
        if last.get("kind") == "MemberExpr" or (last.get("kind") == "LambdaExpr" and returned == "*"):
            return True
        if last.get("kind") == "ReturnStmt" and self.place == "function":
            in_lambda = any(each.get("kind") == "LambdaExpr" for each in up)
            return not in_lambda and f"{self.of.name} {returned}" in qualified_type(self.function).split("(")[0] + " "
        if last.get("kind") == "CXXOperatorCallExpr" and returned == "&":
            return self.is_own_operator(last) and is_this(inner(last)[1])
        return self.is_identity(last)

    def may_use_argument(self, parents):
        up = [each for each in parents if each.get("kind") not in TRANSPARENT]
        last = up[-1] if up else {}
        if last.get("kind") == "UnaryOperator" and last.get("opcode") == "&":
            return len(up) > 1 and self.is_identity(up[-2])
        if last.get("kind") == "CXXOperatorCallExpr":
            return self.is_own_operator(last)
        return last.get("kind") == "MemberExpr"

    def is_own_operator(self, call):
        called = stripped(inner(call)[0]).get("referencedDecl", {})
        parameters = qualified_type(called).partition("(")[2].rpartition(")")[0]
        return called.get("id") in self.of.methods and (not self.of.is_class(parameters))

    def is_identity(self, node):
        """`this == &other`: both are halves, of one object the same."""
        if node.get("kind") != "BinaryOperator" or node.get("opcode") not in ("==", "!="):
            return False
        sides = [stripped(each) for each in inner(node)]
        addresses = [each for each in sides if each.get("kind") == "UnaryOperator" and each.get("opcode") == "&" and
                     self.is_shown(stripped(inner(each)[0]))]
        return len(addresses) == 1 and any(each.get("kind") == "CXXThisExpr" for each in sides)


def annotated_class(trees, file, line, column):
    """(record, is in a template) of the class whose attribute is at that place."""
    found = []

    def search(node, in_template):
        if node.get("kind") == "CXXRecordDecl" and node.get("completeDefinition") and not node.get("isImplicit"):
            begin, name = spelled(node["range"]["begin"]), spelled(node["loc"])
            if begin.get("file") == file and (begin["line"], begin["col"]) <= (line, column) <= (name["line"], name["col"]):
                found.append((node, in_template))
        for each in inner(node):
            if each["kind"] in ("CXXRecordDecl", "NamespaceDecl", "ClassTemplateDecl", "LinkageSpecDecl"):
                search(each, in_template or node.get("kind") == "ClassTemplateDecl")

    for tree in trees:
        search(tree, False)
    return found[0] if found else (None, False)
