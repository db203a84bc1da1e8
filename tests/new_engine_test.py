#!/usr/bin/env python3
"""new_engine_test.py [COMPILER [CMAKE]]: adding an engine takes its header, its source, and two lines of a list.

Does to a copy of the tree what docs/guide/own-engine.md says, with the engine of that page, and runs on it what would
notice another file that had to be edited: the checks of tests/, the build's list of engines, and the compiler.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["holdfast", "cmake", "tests", "examples", "docs", "tools", "workload"]
LIST = "holdfast/engine/engines.hpp"
ENGINE = "force"
# Prints what the build takes from the list.
SHOW_LIST = """set(PROJECT_SOURCE_DIR "${CMAKE_CURRENT_LIST_DIR}")
include("${PROJECT_SOURCE_DIR}/cmake/holdfast_engines.cmake")
message(STATUS "engines ${HOLDFAST_ENGINES} sources ${HOLDFAST_ENGINE_SOURCES}")
"""
# Whoever includes the front door can name it, and the list calls it.
USE_LIST = f"""#include <holdfast/holdfast.hpp>
static_assert(holdfast::{ENGINE}::description.name == std::string_view("{ENGINE}"));
#define COUNT(engine) +1
static_assert(0 HOLDFAST_ENGINES(COUNT) == {{engines}});
"""


def replace_once(path, old, new):
    text = path.read_text()
    if text.count(old) != 1:
        sys.exit(f"new_engine_test: {path}: expected {old!r} once, found it {text.count(old)} times")
    path.write_text(text.replace(old, new))


def copy_tree(to):
    skipped = shutil.ignore_patterns("__pycache__", "build")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, to / folder, symlinks=True, ignore=skipped)
    for each in ROOT.iterdir():
        if each.is_file():
            shutil.copy(each, to / each.name)


def add_engine(tree):
    for suffix in ["hpp", "cpp"]:
        shutil.copy(tree / f"examples/own_engine/{ENGINE}.{suffix}", tree / f"holdfast/engine/{ENGINE}.{suffix}")
    replace_once(tree / f"holdfast/engine/{ENGINE}.cpp", f"<examples/own_engine/{ENGINE}.hpp>",
                 f"<holdfast/engine/{ENGINE}.hpp>")
    include = "#include <holdfast/engine/redo.hpp>\n"
    replace_once(tree / LIST, include, f"#include <holdfast/engine/{ENGINE}.hpp>\n{include}")
    # Before the last engine: each line but the last ends in a backslash.
    replace_once(tree / LIST, "    X(volatile_only)\n", f"    X({ENGINE}) \\\n    X(volatile_only)\n")


def engines_of(tree):
    return (tree / LIST).read_text().count("    X(")


def problems(tree, compiler, cmake):
    """What each check says of the tree, if it does not pass."""
    python = [sys.executable, "-B"]
    (tree / "show_list.cmake").write_text(SHOW_LIST)
    compile_only = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{tree}", "-x", "c++"]
    use_list = USE_LIST.format(engines=engines_of(tree))
    checks = {
        "tests/tidy.py": (python + ["tests/tidy.py"], None, " 0 findings"),
        "tests/entry_points.py": (python + ["tests/entry_points.py"], None, ""),
        "tests/public_headers.py": (python + ["tests/public_headers.py", compiler, "--untimed"], None, ""),
        "the build's list": ([cmake, "-P", "show_list.cmake"], None, f"{ENGINE}.cpp"),
        "its source": (compile_only + [f"holdfast/engine/{ENGINE}.cpp"], None, ""),
        "the front door": (compile_only + ["-"], use_list, ""),
    }
    for name, (command, text, expected) in checks.items():
        done = subprocess.run(command, cwd=tree, input=text, capture_output=True, text=True)
        said = done.stdout + done.stderr
        if done.returncode != 0 or expected not in said:
            yield f"{name}: expected success{f' and {expected!r}' if expected else ''}, found {done.returncode}:\n{said}"


def main():
    compiler = sys.argv[1] if len(sys.argv) > 1 else "c++"
    cmake = sys.argv[2] if len(sys.argv) > 2 else "cmake"
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch)
        copy_tree(tree)
        add_engine(tree)
        found = list(problems(tree, compiler, cmake))
    print("\n".join(found) if found else f"{ENGINE}: a header, a source and two lines of {LIST} are enough")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
