#!/usr/bin/env python3
"""No plain access to shared data before a block begins, nor inside its instrumented code: by reading machine code.

    assembly_test.py COMPILER FLAG...     FLAG: what blocks are compiled with

instrumented/snippets.cc is compiled at several levels of optimization, with the flags and with one of them missing: then
something must be found, or this test could not fail. x86-64 only.
"""

import os
import re
import subprocess
import sys

SNIPPETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instrumented", "snippets.cc")
LEVELS = ("-O1",), ("-O2",), ("-O3",), ("-O3", "-mavx2"), ("-O3", "-mavx512vl")
# With the level at which it is seen that one is missing.
NEEDED = {
    "-fno-code-hoisting": ("-O2",),
    "-fno-tree-pre": ("-O2",),
    "-fno-tree-loop-distribute-patterns": ("-O2",),
    "-fno-ipa-sra": ("-O2",),
    "-fno-ipa-modref": ("-O2",),
    "-fno-tree-loop-vectorize": ("-O3", "-mavx2"),
}
# What the compiler calls of its own accord. It has no barriers.
PLAIN_CALLS = r"\b(memset|memcpy|memmove)\b"


class Function:
    """Instructions as (mnemonic, operands), labels as indices into them."""

    def __init__(self, name):
        self.name, self.code, self.labels = name, [], {}


def functions(assembly):
    found, current, cold = {}, None, None
    for line in assembly.split("\n"):
        label = re.match(r"^([.\w$]+):", line)
        instruction = re.match(r"^\t([a-z]\w*)(?:\s+(.*))?$", line)
        if label:
            name = label.group(1)
            if name.startswith(".L"):
                if current:
                    current.labels[name] = len(current.code)
            elif name.endswith(".cold"):
                current = found.get(name[:-5])
            else:
                current = found.setdefault(name, Function(name))
                current.labels[name] = len(current.code)
        elif instruction and current:
            current.code.append((instruction.group(1), instruction.group(2) or ""))
    with_blocks = [each for each in found.values() if has_block(each)]
    callees = tuple(each.name for each in with_blocks if each.name.startswith("_ZL"))
    return with_blocks + [each for each in found.values() if not has_block(each) and calls_one_of(each, callees)]


def has_block(function):
    return any("_ITM_beginTransaction" in operands for _, operands in function.code)


def calls_one_of(function, callees):
    return any(mnemonic in ("call", "jmp") and operands.split("@")[0] in callees for mnemonic, operands in function.code)


def is_plain_access(mnemonic, operands):
    """Whether an instruction touches memory that is not on the stack."""
    if mnemonic.startswith(("lea", "nop", "call", "jmp")) or mnemonic == "notrack":
        return False
    return bool(re.search(r"\((?!%rsp)", operands)) and "%fs:" not in operands and ".LC" not in operands \
        and "(,%r" not in operands and "@gottpoff" not in operands and ".L" not in operands


def successors(function, at, begun_by):
    """(index, blocks left) of what may come next. After a begin only the instrumented way is followed."""
    mnemonic, operands = function.code[at]
    if mnemonic == "ret" or (mnemonic == "call" and re.search(r"_ITM_abort|_Unwind_Resume", operands)):
        return []
    target = function.labels.get(operands.split()[-1] if operands else "")
    if mnemonic == "jmp":
        if target is not None:
            return [(target, 0)]
        # A jump through a table goes to any label; a tail call ends.
        return [(each, 0) for each in function.labels.values()] if "*" in operands else []
    if mnemonic.startswith("j") and target is not None:
        jumps, stays = (target, 0), (at + 1, 0)
        test = begun_by
        if test == 2:
            return [stays] if mnemonic == "jne" else [jumps]
        if test == 16:
            left, goes_on = (jumps, stays) if mnemonic == "jne" else (stays, jumps)
            return [(left[0], 1), goes_on]
        return [jumps, stays]
    return [(at + 1, 0)]


def findings(function):
    """What is accessed plainly where it must not be, as sentences."""
    found = set()
    # (index, open blocks, an access came before, mine() was called, which bit of the action was tested)
    todo, seen = [(0, 0, None, False, 0)], set()
    while todo:
        state = todo.pop()
        at, depth, accessed, mine, test = state
        if state in seen or at >= len(function.code):
            continue
        seen.add(state)
        assert depth < 4, f"{function.name}: this test misunderstands where its blocks end"
        mnemonic, operands = function.code[at]
        text = f"{mnemonic} {operands}"
        if is_plain_access(mnemonic, operands):
            if depth > 0:
                found.add(f"{function.name}: '{text}' has no barrier inside a block")
            elif not mine:
                accessed = text
        next_depth, next_test = depth, test
        if mnemonic in ("call", "jmp"):
            if "_ITM_beginTransaction" in operands:
                if depth == 0 and accessed:
                    found.add(f"{function.name}: '{accessed}' comes before the block")
                next_depth, accessed, mine = depth + 1, None, False
            elif "_ITM_commitTransaction" in operands:
                next_depth = max(depth - 1, 0)
            elif "mine" in operands:
                mine = True
            elif depth > 0 and re.search(PLAIN_CALLS, operands):
                found.add(f"{function.name}: '{text}' has no barrier inside a block")
            elif operands.startswith("_ZL") and accessed:
                found.add(f"{function.name}: '{accessed}' comes before the block of the callee")
        bit = re.match(r"test[bl]? \$(2|16), %(al|eax|\w+)", text)
        next_test = int(bit.group(1)) if bit else test if not mnemonic.startswith("j") else 0
        for index, left in successors(function, at, test):
            todo.append((index, max(next_depth - left, 0), accessed, mine, next_test))
    return found


def check(compiler, level, flags):
    done = subprocess.run([compiler, "-std=c++20", *level, "-w", "-fno-asynchronous-unwind-tables", "-fcf-protection=none",
                           *flags, "-S", "-o", "-", SNIPPETS], capture_output=True, text=True, check=True)
    all_functions = functions(done.stdout)
    assert len(all_functions) >= 14, f"only {len(all_functions)} functions with blocks"
    return sorted(sentence for each in all_functions for sentence in findings(each))


def main():
    compiler, flags = sys.argv[1], sys.argv[2:]
    failed = 0
    for level in LEVELS:
        for sentence in check(compiler, level, flags):
            print(f"{' '.join(level)}: {sentence}")
            failed = 1
    for missing, level in NEEDED.items():
        assert missing in flags, f"{missing} is not among the flags"
        wrong = check(compiler, level, [flag for flag in flags if flag != missing])
        print(f"without {missing}: {len(wrong)} findings, such as {wrong[:1]}")
        if not wrong:
            print(f"this test cannot see that {missing} is missing")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
