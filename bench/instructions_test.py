#!/usr/bin/env python3
"""instructions_test.py PROGRAM [--write]: counts the instructions of a transaction with callgrind, and compares them with
instructions.txt beside this file, within 2 %. --write writes that file anew. Of a row's counts the least is taken: rare
events (looks at the stack, an emptied log) fall into one count or another, as addresses and environment have it."""
import pathlib
import re
import subprocess
import sys
import tempfile

GOLDEN = pathlib.Path(__file__).with_name("instructions.txt")
TOLERANCE = 0.02
HEAD = "# Instructions a transaction, counted by callgrind over 500 of them, after as many to warm up: the least of three.\n"


def measure(program):
    """From "ENGINE LEVEL STRUCTURE OPERATION" to instructions a transaction, in the order in which they are counted."""
    counted = {}
    with tempfile.TemporaryDirectory() as scratch:
        command = ["valgrind", "--tool=callgrind", "--collect-atstart=no", f"--callgrind-out-file={scratch}/out", program]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
        dumps = sorted(pathlib.Path(scratch).glob("out.*"), key=lambda path: int(path.suffix[1:]))
        for dump in dumps:
            text = dump.read_text()
            name = re.search(r"^desc: Trigger: Client Request: (.*) (\d+)$", text, re.MULTILINE)
            if name is None:
                continue
            total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
            count = round(int(total[1]) / int(name[2]))
            counted[name[1]] = min(count, counted.get(name[1], count))
    return counted


def read_golden():
    rows = (line.rsplit(maxsplit=1) for line in GOLDEN.read_text().splitlines() if line and line[0] != "#")
    return {" ".join(name.split()): int(count) for name, count in rows}


def write_golden(counted):
    rows = (f"{engine:<14}{level:<8} {structure:<7}{operation:<7} {count:>6}\n"
            for (engine, level, structure, operation), count in ((name.split(), c) for name, c in counted.items()))
    GOLDEN.write_text(HEAD + "".join(rows))


def main():
    counted = measure(sys.argv[1])
    if "--write" in sys.argv:
        write_golden(counted)
        return
    golden = read_golden()
    wrong = [f"{name}: expected {golden.get(name, 'no such row')}, found {counted.get(name, 'no such row')}"
             for name in golden | counted
             if name not in golden or name not in counted
             or abs(counted[name] - golden[name]) > TOLERANCE * golden[name]]
    if wrong:
        sys.exit("\n".join(wrong) + f"\nIf that is meant, write {GOLDEN.name} anew with --write and say why.")
    print(f"{len(counted)} counts are within {TOLERANCE:.0%} of {GOLDEN.name}")


if __name__ == "__main__":
    main()
