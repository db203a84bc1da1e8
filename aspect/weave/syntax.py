"""clang's syntax tree of a source, as JSON."""

TRANSPARENT = {"ImplicitCastExpr", "ParenExpr", "ExprWithCleanups", "MaterializeTemporaryExpr"}


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
