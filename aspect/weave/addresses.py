"""Where addresses of members go inside a body: expressions, and the local variables that hold one."""

import re

from syntax import TRANSPARENT, inner, qualified_type, stripped

MAKES = {"CXXConstructExpr", "CXXTemporaryObjectExpr", "InitListExpr", "CXXFunctionalCastExpr", "CXXBindTemporaryExpr",
         "CXXStdInitializerListExpr", "CallExpr", "CXXStaticCastExpr", "CStyleCastExpr", "CXXReinterpretCastExpr",
         "CXXConstCastExpr", "CXXNewExpr"}


def is_reference(node):
    return re.search(r"&$|\(&\)", qualified_type(node)) is not None


def names_storage(node):
    """By which something can be written: an lvalue, a reference or a pointer to data."""
    of = qualified_type(node)
    return (node.get("valueCategory") in ("lvalue", "xvalue") or of.endswith("*")) and "(" not in of


def is_constant(node, lvalue=False):
    """What it names, or points to, is const."""
    of = qualified_type(node)
    if node.get("valueCategory") == "prvalue" and not lvalue:
        if not of.endswith("*"):
            return False
        of = of[:-1].rstrip()
        return of.endswith("const") or (of.startswith("const ") and not of.endswith("*"))
    return of.endswith("const") or (of.startswith("const ") and not of.endswith("*"))


def loses_const_below(source, target):
    """Whether what is behind a pointer to a pointer, or a reference to one, is const in the first type alone."""
    def stars(node):
        return qualified_type(node).count("*") + (node.get("valueCategory") != "prvalue")
    return min(stars(source), stars(target)) > 1 and \
        qualified_type(source).count("const") > qualified_type(target).count("const")


def leaves(node):
    found = [node]
    for each in inner(node):
        found += leaves(each)
    return found


class Addresses:
    """`holding` are the local variables that hold an address of a member, `naming` those that are references to one."""

    def __init__(self, fields, local_variables):
        self.fields, self.locals = fields, local_variables
        self.holding, self.naming = set(), set()

    def follow(self, variable):
        value = inner(variable)[-1] if inner(variable) else None
        if value is None:
            return
        if is_reference(variable) and self.is_member(value):
            self.naming.add(variable["id"])
        elif self.escapes(value):
            self.holding.add(variable["id"])

    def variable(self, node):
        """The local variable that is written when `node` is."""
        node = stripped(node)
        while node.get("kind") in ("MemberExpr", "ArraySubscriptExpr") and inner(node) and not node.get("isArrow"):
            node = stripped(inner(node)[0])
        return node.get("referencedDecl", {}).get("id")

    def is_member(self, node, constant=False):
        """Whether that names a member or a part of one, and, unless told, one that can be written by it."""
        if not constant and is_constant(node, lvalue=True):
            return False
        while node.get("kind") in TRANSPARENT and inner(node):
            if node.get("castKind") == "LValueToRValue":
                return False
            node = inner(node)[0]
        kind, below = node.get("kind"), inner(node)
        if kind == "DeclRefExpr":
            return node.get("referencedDecl", {}).get("id") in self.naming
        if kind == "MemberExpr":
            if node.get("referencedMemberDecl") in self.fields:
                return True
            if not below or qualified_type(node) == "<bound member function type>":
                return False
            return self.escapes(below[0], constant) if node.get("isArrow") else self.is_member(below[0], constant)
        if kind == "ArraySubscriptExpr":
            return any(self.escapes(each, constant) for each in below)
        if kind == "UnaryOperator":
            if node.get("opcode") == "*":
                return self.escapes(below[0], constant)
            return node.get("opcode") in ("++", "--") and node.get("valueCategory") == "lvalue" and \
                self.is_member(below[0], constant)
        if kind in ("ConditionalOperator", "BinaryOperator", "CompoundAssignOperator"):
            parts = below[1:] if kind == "ConditionalOperator" else below[-1:] if node.get("opcode") == "," else below[:1]
            return node.get("valueCategory") == "lvalue" and any(self.is_member(each, constant) for each in parts)
        if kind == "CXXOperatorCallExpr":
            return node.get("valueCategory") == "lvalue" and len(below) > 1 and self.is_member(below[1], constant)
        if kind in ("CXXStaticCastExpr", "CStyleCastExpr", "CXXConstCastExpr", "CXXReinterpretCastExpr",
                    "CXXFunctionalCastExpr"):
            return node.get("valueCategory") == "lvalue" and bool(below) and self.is_member(below[-1], constant)
        if kind == "CXXMemberCallExpr":
            return node.get("valueCategory") == "lvalue" and self.called_on_a_member(node, constant)
        if kind == "CallExpr":
            return node.get("valueCategory") == "lvalue" and any(self.is_member(each, constant) for each in below[1:])
        return False

    def called_on_a_member(self, call, constant):
        called = stripped(inner(call)[0])
        return called.get("kind") == "MemberExpr" and bool(inner(called)) and not called.get("isArrow") and \
            self.is_member(inner(called)[0], constant)

    def escapes(self, node, constant=False):
        """Whether the value of that holds an address by which a member can be written, or read where `constant` says so."""
        kind, below = node.get("kind"), inner(node)
        if qualified_type(node).endswith("*") and not constant and is_constant(node):
            return False
        if kind in ("ImplicitCastExpr", "CXXReinterpretCastExpr", "CStyleCastExpr") and below:
            if node.get("castKind") == "ArrayToPointerDecay":
                return self.is_member(below[0], constant)
            if node.get("castKind") == "LValueToRValue":
                return self.holds(below[0])
        if kind in TRANSPARENT or kind in ("ConstantExpr", "CXXDefaultInitExpr", "SubstNonTypeTemplateParmExpr"):
            return bool(below) and self.escapes(below[0], constant)
        if kind == "DeclRefExpr":
            return self.holds(node)
        if kind == "UnaryOperator":
            if node.get("opcode") == "&":
                return self.is_member(below[0], constant)
            return node.get("opcode") in ("++", "--") and self.holds(below[0])
        if kind == "BinaryOperator":
            if node.get("opcode") in ("+", "-"):
                return qualified_type(node).endswith("*") and any(self.escapes(each, constant) for each in below)
            return node.get("opcode") in ("=", ",") and self.escapes(below[-1], constant)
        if kind == "ConditionalOperator":
            return any(self.escapes(each, constant) for each in below[1:])
        if kind == "LambdaExpr":
            return self.captures(node)
        if kind == "CXXMemberCallExpr":
            of = qualified_type(node)
            return (of.endswith("*") or "iterator<" in of) and self.called_on_a_member(node, constant)
        if kind in MAKES:
            return self.made_of_address(node, below, constant)
        return False

    def made_of_address(self, node, below, constant):
        of = qualified_type(node)
        if kind_of_number(of):
            return False
        if node["kind"] == "CallExpr" and of.endswith("*"):
            return any(self.escapes(each, constant) or self.is_member(each, constant) for each in below[1:])
        if node["kind"] == "InitListExpr" and any(names_plainly(each) and self.is_member(each) for each in below):
            return True  # The structure has a reference.
        if re.search(r"reference_wrapper<|[<,] ?(?!const )[\w:]+ &", of) and any(map(self.is_member, below)):
            return True
        if node["kind"] in ("CXXConstructExpr", "CXXTemporaryObjectExpr") and not of.removeprefix("const ").startswith("std::"):
            taken = node.get("ctorType", {}).get("qualType", "").partition("(")[2].split(",")
            if any(re.match(r"\s*(?!const )[^&]*[^&]&\)?[^&]*$", type_name) and self.is_member(each)
                   for type_name, each in zip(taken, below)):
                return True  # It may keep the reference.
        return any(self.escapes(each, constant) for each in below)

    def holds(self, node):
        """A local variable, or a part of one."""
        return self.variable(node) in self.holding

    def captures(self, node):
        for each in inner(node):
            if each.get("kind") == "CXXThisExpr":
                return True
            if each.get("kind") in TRANSPARENT | {"DeclRefExpr"}:
                if stripped(each).get("referencedDecl", {}).get("id") in self.naming | self.holding:
                    return True
        return False


def names_plainly(node):
    while node.get("kind") == "ParenExpr":
        node = inner(node)[0]
    return node.get("kind") in ("MemberExpr", "DeclRefExpr", "ArraySubscriptExpr")


def kind_of_number(of):
    return of.removeprefix("const ") in {"bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int",
                                         "unsigned int", "long", "unsigned long", "long long", "unsigned long long",
                                         "float", "double", "void"}
