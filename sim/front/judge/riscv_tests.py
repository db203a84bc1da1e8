#!/usr/bin/env python3
"""riscv_tests.py COMPILER RUNNER SOURCES

Runs the published tests of the instruction set at user level (https://github.com/riscv-software-src/riscv-tests, at
SOURCES) in the simulated machine: an independent judge of the front end. RUNNER executes a program. Exit status 77, a
skipped test, when there are no sources.
"""
import pathlib
import subprocess
import sys
import tempfile

SETS = ("rv64ui", "rv64um", "rv64ua", "rv64uf", "rv64ud", "rv64uc")
# They store instructions and then execute them. The machine's programs cannot: their code is not writable.
NEED_WRITABLE_CODE = {"rv64ui/fence_i", "rv64uc/rvc"}
SKIPPED = 77


def compile_test(compiler, source, sources, program):
    here = pathlib.Path(__file__).resolve().parent
    command = [compiler, "-march=rv64gc", "-mabi=lp64d", "-static", "-nostdlib", "-nostartfiles", "-no-pie", "-x",
               "assembler-with-cpp", f"-I{here}", f"-I{sources}/isa/macros/scalar", str(source), "-o", str(program),
               "-Wl,-z,separate-code,-z,max-page-size=65536,--build-id=none,--no-relax"]  # gp counts the cases
    return subprocess.run(command, capture_output=True, text=True)


def judge(compiler, runner, source, sources, scratch):
    """What is wrong, or nothing."""
    program = scratch / source.stem
    compiled = compile_test(compiler, source, sources, program)
    if compiled.returncode != 0:
        return "does not compile: " + compiled.stderr.strip().splitlines()[-1]
    ran = subprocess.run([runner, str(program)], capture_output=True, text=True, timeout=60)
    if ran.returncode == 0:
        return None
    told = [line for line in ran.stderr.splitlines() if line.startswith("sim:")]
    return told[0] if told else f"case {ran.returncode} failed"


def main(compiler, runner, sources):
    if not sources or not (pathlib.Path(sources) / "isa").is_dir():
        print("skipped: HOLDFAST_RISCV_TESTS names no clone of riscv-tests")
        return SKIPPED
    passed, failures = 0, []
    with tempfile.TemporaryDirectory() as scratch:
        for directory in SETS:
            for source in sorted((pathlib.Path(sources) / "isa" / directory).glob("*.S")):
                name = f"{directory}/{source.stem}"
                wrong = judge(compiler, runner, source, sources, pathlib.Path(scratch))
                passed += wrong is None
                if wrong and name not in NEED_WRITABLE_CODE:
                    failures.append(f"{name}: {wrong}")
                elif wrong:
                    print(f"{name}: {wrong} (it needs writable code)")
    for each in failures:
        print(each)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
