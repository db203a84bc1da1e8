#!/usr/bin/env python3
"""The model of the blue and red queues, explored by spin to its end; and each repair left out, which it must find.

    model_test.py COMPILER      COMPILER: what spin's C is compiled with, by -x c

With HOLDFAST_SOAK in the environment also three threads with two transactions each: 75 million states, 3.5 GB.
"""

import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "blue_red_queue.pml")
FAULTS = os.path.join(HERE, "..", "blue_red_faults.hpp")
NOT_MODELLED = {"two_retire"}

# Threads, transactions of each, slots, how many may withdraw; and how many states there are at least.
PROGRAMS = [(2, 2, 2, 4, 1_000_000), (2, 2, 4, 0, 7_000_000), (3, 1, 4, 3, 2_500_000)]
SOAK_PROGRAMS = [(2, 2, 4, 4, 10_000_000), (3, 2, 2, 1, 70_000_000)]


def run(compiler, program, fault=None):
    """What spin's verifier says of a program."""
    threads, transactions, slots, withdrawn = program
    with tempfile.TemporaryDirectory(prefix="holdfast-model-") as folder:
        macros = [f"-DTHREADS={threads}", f"-DEACH={transactions}", f"-DRING={slots}", f"-DWITHDRAWN={withdrawn}"]
        macros += [f"-D{fault.upper()}"] if fault else []
        subprocess.run(["spin", *macros, "-a", MODEL], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        # What is found soon is not worth a minute of the optimizer.
        options = ["-O0" if fault else "-O2", "-w", "-DSAFETY", "-DNOFAIR", "-DMEMLIM=8000", "-DCOLLAPSE"]
        subprocess.run([compiler, "-x", "c", *options, "-o", "pan", "pan.c"], cwd=folder, check=True)
        begun = time.monotonic()
        said = subprocess.run(["./pan", "-m100000", "-w22"], cwd=folder, capture_output=True, text=True).stdout
        return said, time.monotonic() - begun


def states_of(said):
    found = re.search(r"^\s*([\d.e+]+) states, stored", said, re.M)
    return int(float(found.group(1))) if found else 0


def unreached(said):
    """Statements that no run came to, but for the ends of processes that wait for ever."""
    found = []
    for of_process in re.finditer(r"^unreached in (\w+) (\w+)\n((?:\t.*\n)*)", said, re.M):
        found += [f"{of_process.group(2)}: {line.strip()}" for line in of_process.group(3).split("\n")
                  if re.search(r"\.pml:\d+", line) and "-end-" not in line]
    return found


def explore_to_the_end(compiler, program, least):
    said, seconds = run(compiler, program)
    states = states_of(said)
    print(f"threads, transactions, slots, withdrawn {program}: {states} states, {seconds:.1f} s")
    wrong = []
    if "errors: 0" not in said:
        wrong.append("an error: " + "; ".join(re.findall(r"^pan:\d+: .*", said, re.M)))
    if re.search(r"max search depth too small|out of memory|Search not completed|reached -DMEMLIM", said):
        wrong.append("not explored to its end")
    if states < least:
        wrong.append(f"fewer than {least} states: the model has lost something")
    return [f"{program}: {each}" for each in wrong], set(unreached(said))


def main():
    compiler = sys.argv[1]
    soak = "HOLDFAST_SOAK" in os.environ
    with open(FAULTS, encoding="utf-8") as file:
        faults = set(re.findall(r"^    X\((\w+),", file.read(), re.M)) - NOT_MODELLED
    with open(MODEL, encoding="utf-8") as file:
        model = file.read()
    wrong = [f"the model has no {each}" for each in sorted(faults)
             if not re.search(rf"^#if(?:n?def) {each.upper()}$", model, re.M)]
    never = None
    for *program, least in PROGRAMS + (SOAK_PROGRAMS if soak else []):
        found, not_reached = explore_to_the_end(compiler, tuple(program), least)
        wrong += found
        never = not_reached if never is None else never & not_reached
    wrong += [f"no program comes to {each}" for each in sorted(never)]
    for fault in sorted(faults):
        said, _ = run(compiler, (2, 2, 2, 4), fault)
        found = re.findall(r"^pan:1: .*", said, re.M)
        print(f"{fault}: {found[0] if found else 'nothing found'}")
        if not found:
            wrong.append(f"this test cannot see {fault}")
    for sentence in wrong:
        print(sentence)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
