"""What a body of a woven class must not do."""

import re

import addresses
from syntax import TRANSPARENT, inner, is_this, qualified_type, stripped

CASTS = {"CXXConstCastExpr", "CStyleCastExpr", "CXXReinterpretCastExpr", "CXXFunctionalCastExpr", "CXXStaticCastExpr"}
MUTEX = re.compile(r"mutex|^sem_t$|spin_?lock|rwlock|atomic_flag|semaphore|condition_variable", re.I)
GUARD = re.compile(r"(?:^|[_:<]|[a-z](?=[A-Z]))(?:lock|guard)(?:$|[_<>A-Z]|ed\b|er\b)", re.I)
LOCKING = re.compile(r"^(?:try_?)?(?:un)?lock(?:_shared|_upgrade|_read|_write)?(?:_for|_until)?$|(?:^|_)(?:un)?lock(?:$|_)|"
                     r"^(?:acquire|release|test_and_set|call_once|lockf|flock|sem_(?:try|timed)?wait|sem_post)$|_(?:rd|wr|try)lock$")
INSERTING = {"push_back", "push_front", "push", "insert", "emplace", "emplace_back", "emplace_front", "assign", "store",
             "exchange", "reset"}


class Body:
    """The rules for one place from which members may be reached."""

    def __init__(self, of, place, shown=(), function=None):
        self.of, self.place, self.shown, self.function = of, place, shown, function
        self.locals = set()
        self.parameters = {each["id"] for each in inner(function or {}) if each["kind"] == "ParmVarDecl"}
        self.addresses = addresses.Addresses(of.fields, self.locals)
        self.constant = function is not None and re.search(r"\)\s*(?:volatile\s*)?const\b|\)\s*const\b",
                                                           qualified_type(function)) is not None

    def look(self, node, parents):
        kind = node.get("kind")
        if kind == "VarDecl" and node.get("storageClass") != "static" and not node.get("tls"):
            self.locals.add(node["id"])
            self.addresses.follow(node)
        elif kind in ("VarDecl", "CXXCtorInitializer", "BinaryOperator", "CXXOperatorCallExpr", "ReturnStmt", "CXXThrowExpr",
                      "CXXMemberCallExpr"):
            self.look_at_stored_address(node, parents)
        if kind == "MemberExpr":
            self.look_at_member(node)
            self.look_at_mutable(node)
        elif kind == "CXXThisExpr" and not node.get("implicit"):
            if self.place != "nested" and not self.may_use_this(parents):
                self.of.refuse(node, "'this' is the half that is meant and not the object: use it to name a member, "
                               "return it, or let the caller pass the object")
        elif kind == "DeclRefExpr":
            self.look_at_name(node, parents)
        elif kind in CASTS:
            self.look_at_cast(node)
        if self.place in ("function", "static"):
            self.look_at_lock(node)

    def look_at_name(self, node, parents):
        target = node.get("referencedDecl", {})
        if target.get("id") in self.of.fields:
            self.of.refuse(node, f"a pointer to member '{target.get('name')}' would reach past its transaction: "
                           "name the member, or point to a member function")
        elif self.is_shown(node) and not self.may_use_argument(parents):
            self.of.refuse(node, f"'{target.get('name')}' is shown as one half of the object and cannot be passed "
                           "on: read its members here, or call its functions")

    def look_at_stored_address(self, node, parents):
        """Where it is kept in more than a local variable, an address of a member outlives its transaction."""
        kind, operands = node["kind"], inner(node)
        if not operands:
            return
        value, where = operands[-1], node
        if kind == "ReturnStmt":
            if any(each.get("kind") == "LambdaExpr" for each in parents):
                return
            if self.addresses.escapes(value):
                self.of.refuse(node, "the address of a member is returned, by which the object could be written outside a "
                               "transaction: return a value or something const")
            return
        if kind == "CXXMemberCallExpr":
            called = stripped(operands[0])
            if called.get("name") not in INSERTING or self.addresses.is_member(stripped((inner(called) or [{}])[0])):
                return
            value = next((each for each in operands[1:] if self.addresses.escapes(each)), {})
        elif kind in ("BinaryOperator", "CXXOperatorCallExpr"):
            if kind == "BinaryOperator" and node.get("opcode") != "=":
                return
            if kind == "CXXOperatorCallExpr" and (len(operands) != 3 or stripped(operands[0]).get("referencedDecl", {})
                                                  .get("name") != "operator="):
                return
            target = self.addresses.variable(operands[-2])
            if target in self.locals:
                if self.addresses.escapes(value):
                    self.addresses.holding.add(target)
                return
        elif kind == "VarDecl" and addresses.is_reference(node) and self.addresses.is_member(value):
            return self.refuse_kept(where)
        elif kind == "CXXCtorInitializer":
            where = value  # It has no place of its own.
        if self.addresses.escapes(value, constant=kind != "CXXThrowExpr"):
            self.refuse_kept(where)

    def refuse_kept(self, node):
        self.of.refuse(node, "the address of a member is kept, and would be in the wrong half after the next transaction: "
                       "keep an index, or take the address where it is used")

    def look_at_mutable(self, node):
        """A member of a member that is mutable: what names it is not const, and what it is in is."""
        base = inner(node)[0] if inner(node) else {}
        if node.get("referencedMemberDecl") in self.of.fields or node.get("valueCategory") != "lvalue":
            return
        of = qualified_type(base)
        constant = of.startswith("const ") and (not node.get("isArrow") or of.endswith("*"))
        if self.constant and constant and not qualified_type(node).startswith(("const ", "volatile const ")) and \
                not qualified_type(node).endswith((" const", "&")) and self.addresses.is_member(base, constant=True):
            self.of.refuse(node, f"'{node.get('name')}' is mutable, and a const function is no transaction: make the "
                           "function that changes it non-const")

    def look_at_cast(self, node):
        source = inner(node)[-1] if inner(node) else {}
        if node.get("castKind") == "PointerToIntegral" and self.addresses.escapes(source, constant=True):
            return self.of.refuse(node, "the address of a member as a number differs between the halves: use an index")
        if node.get("castKind") == "IntegralToPointer" and self.constant and not addresses.is_constant(node):
            return self.of.refuse(node, "a pointer made of a number may write to the valid half in a const function: make "
                                  "the function non-const")
        while source.get("kind") in TRANSPARENT and inner(source):
            if source.get("castKind") in ("LValueToRValue", "ArrayToPointerDecay"):
                break
            source = inner(source)[0]
        from_array = source.get("castKind") == "ArrayToPointerDecay"
        casts_away = addresses.is_constant(inner(source)[0] if from_array else source, lvalue=from_array) and \
            not addresses.is_constant(node) and addresses.names_storage(node)
        if not casts_away and not addresses.loses_const_below(source, node):
            return
        reaches = addresses.leaves(source)
        if any(map(self.is_shown, reaches)) or (self.constant and any(map(self.may_be_of_the_object, reaches))):
            self.of.refuse(node, "a cast takes 'const' away from what may be the valid half, and what is written there is "
                           "no transaction: make the function non-const, and change members without a cast")

    def may_be_of_the_object(self, node):
        """Where the function is const: a member, or what a variable may name, or an argument of a lambda."""
        target = node.get("referencedDecl", {})
        return node.get("kind") in ("CXXThisExpr", "CXXMemberCallExpr") or target.get("id") in self.locals or \
            target.get("kind") == "BindingDecl" or (target.get("kind") == "ParmVarDecl" and target["id"] not in self.parameters)

    def look_at_lock(self, node):
        """A transaction copies the valid half before its body runs: a lock that the body takes comes too late."""
        kind, said = node.get("kind"), None
        of = re.sub(r"<.*", "", qualified_type(node)).split("::")[-1]
        if kind == "VarDecl" and (GUARD.search(of) or of in self.of.locking):
            said = f"'{node.get('name')}' takes a lock"
        elif kind in ("DeclRefExpr", "MemberExpr") and "(" not in qualified_type(node) and \
                MUTEX.search(qualified_type(node)) and node.get("referencedMemberDecl") not in self.of.fields:
            said = f"'{node.get('name') or node.get('referencedDecl', {}).get('name')}' is a lock"
        elif kind in ("DeclRefExpr", "MemberExpr"):
            called = node.get("referencedDecl", {}) if kind == "DeclRefExpr" else node
            if kind == "DeclRefExpr" and called.get("kind") not in ("FunctionDecl", "CXXMethodDecl"):
                return
            if kind == "MemberExpr" and qualified_type(node) != "<bound member function type>":
                return
            if node.get("referencedMemberDecl") not in self.of.methods and \
                    (LOCKING.search(called.get("name", "")) or (kind == "DeclRefExpr" and called.get("name") in self.of.locking)):
                said = f"'{called.get('name')}' takes or gives back a lock"
            elif called.get("name", "").startswith("__sync_"):
                said = f"'{called['name']}' is an atomic operation"
        elif kind == "AtomicExpr":
            said = f"'{node.get('name', 'an atomic')}' is an atomic operation"
        if said:
            self.of.refuse(node, f"{said}, inside a function whose transaction copied the object before: another thread's "
                           "update in between is lost; let the caller hold the lock around the call")

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
