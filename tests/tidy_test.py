#!/usr/bin/env python3
"""Plants a breach of each rule of tidy.py in a small tree and expects to be told of it, and nothing else."""

import os
import subprocess
import sys
import tempfile

TIDY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tidy.py")

CLEAN = {
    "holdfast/base/CMakeLists.txt": "holdfast_add_sources(a.cpp)\n",
    "holdfast/base/a.hpp": "#pragma once\n\nint one();\n",
    "holdfast/base/a.cpp": "#include <holdfast/base/a.hpp>\n\nint one() {\n    return 1;\n}\n",
    "holdfast/log/a.hpp": "#pragma once\n\n#include <holdfast/base/a.hpp>\n\n"
                          "/// Ends in an sfence; see msync(2).\nstruct two {\n    int value() const { return one(); }\n};\n",
    "holdfast/persist/a.hpp": "#pragma once\n\ninline void fence() { _mm_sfence(); }\n",
    "holdfast/log/CMakeLists.txt": "holdfast_add_test(log a_test.cpp)\n",
    "holdfast/log/a_test.cpp": "#include <holdfast/handle/pool.hpp>\n\nvoid map() { mmap(); }\n",
}

# name: (files that are changed or added, the rule that must speak, where)
LONG_FUNCTION = "void long_one(int a,\n              int b) {\n" + "    a += b;\n" * 70 + "}\n"
BREACHES = {
    "long line": ({"holdfast/base/a.hpp": "#pragma once\n// " + "x" * 120 + "\n"}, "line", "holdfast/base/a.hpp:2"),
    "long function": ({"holdfast/base/a.cpp": "\n" + LONG_FUNCTION}, "function", "holdfast/base/a.cpp:2"),
    "long method": ({"holdfast/base/a.hpp": "#pragma once\nnamespace a {\nstruct s {\n" + LONG_FUNCTION + "};\n}\n"},
                    "function", "holdfast/base/a.hpp:4"),
    "long file": ({"holdfast/base/a.hpp": "#pragma once\n" + "int a;\n" * 500}, "file", "holdfast/base/a.hpp:501"),
    "unfinished": ({"holdfast/base/a.hpp": "#pragma once\n// TO" + "DO\n"}, "word", "holdfast/base/a.hpp:2"),
    "one machine's path": ({"holdfast/base/a.hpp": "#pragma once\n// see /ro" + "ot/notes\n"}, "path",
                           "holdfast/base/a.hpp:2"),
    "upward include": ({"holdfast/base/a.hpp": "#pragma once\n#include <holdfast/log/a.hpp>\n"}, "floor",
                       "holdfast/base/a.hpp:2"),
    "sideways include": ({"holdfast/heap/a.hpp": "#pragma once\n#include <holdfast/log/a.hpp>\n"}, "floor",
                         "holdfast/heap/a.hpp:2"),
    "upward include in the explorer": ({"crash/cut/a.hpp": "#pragma once\n#include <crash/explore/a.hpp>\n"}, "floor",
                                       "crash/cut/a.hpp:2"),
    "sideways include in the benchmarks": ({"bench/rivals/a.hpp": "#pragma once\n#include <bench/transactions/a.hpp>\n"},
                                           "floor", "bench/rivals/a.hpp:2"),
    "upward include by a relative path": ({"crash/cut/a.hpp": '#pragma once\n#include "../plant/b.hpp"\n',
                                           "crash/plant/b.hpp": "#pragma once\n"}, "floor", "crash/cut/a.hpp:2"),
    "a test's upward include": ({"sim/port/CMakeLists.txt": "holdfast_add_test(a a_test.cpp)\n",
                                 "sim/port/a_test.cpp": "#include <sim/cache/a.hpp>\n"}, "floor", "sim/port/a_test.cpp:1"),
    "handle below it": ({"holdfast/engine/a.hpp": "#pragma once\n#include <holdfast/handle/a.hpp>\n"}, "floor",
                        "holdfast/engine/a.hpp:2"),
    "front door of the explorer from inside": ({"crash/plant/a.hpp": "#pragma once\n#include <crash/exploration.hpp>\n"},
                                               "floor", "crash/plant/a.hpp:2"),
    "front door from inside": ({"holdfast/heap/a.hpp": "#pragma once\n#include <holdfast/holdfast.hpp>\n"}, "floor",
                               "holdfast/heap/a.hpp:2"),
    "quoted include": ({"holdfast/log/a.hpp": '#pragma once\n#include "b.hpp"\n'}, "include", "holdfast/log/a.hpp:2"),
    "name without its header": ({"holdfast/base/a.cpp": "#include <holdfast/base/a.hpp>\n\nstd::vector<int> one;\n"}, "include",
                                "holdfast/base/a.cpp:3"),
    "fence outside the seam": ({"holdfast/log/a.hpp": "#pragma once\ninline void f() { _mm_sfence(); }\n"}, "machine",
                               "holdfast/log/a.hpp:2"),
    "assembly outside the seam": ({"holdfast/log/a.hpp": '#pragma once\ninline void f() { asm("clwb (%0)"); }\n'},
                                  "machine", "holdfast/log/a.hpp:2"),
    "msync in a tool": ({"tools/CMakeLists.txt": "holdfast_add_command(b.cpp)\n", "tools/b.cpp": "void f() { msync(0, 0, 0); }\n"},
                        "machine", "tools/b.cpp:1"),
    "no guard": ({"holdfast/base/a.hpp": "int one();\n"}, "guard", "holdfast/base/a.hpp:1"),
    "dead source": ({"holdfast/base/b.cpp": "int b;\n"}, "dead", "holdfast/base/b.cpp:1"),
    "unknown room": ({"holdfast/attic/b.hpp": "#pragma once\n"}, "room", "holdfast/attic/b.hpp:1"),
    "unknown room of the benchmarks": ({"bench/attic/b.hpp": "#pragma once\n"}, "room", "bench/attic/b.hpp:1"),
    "room where there are none": ({"tools/attic/b.hpp": "#pragma once\n"}, "room", "tools/attic/b.hpp:1"),
    "workload with a container": ({"workload/w.hpp": "#pragma once\n#include <vector>\n"}, "workload", "workload/w.hpp:2"),
    "test that is no sentence in CamelCase": ({"holdfast/log/a_test.cpp": "TEST(Log, keeps_all) {}\n"}, "name",
                                              "holdfast/log/a_test.cpp:1"),
    "space": ({"README.md": "a \n"}, "space", "README.md:1"),
    "awkward page": ({"README.md": "It waits.\nUp to so\nmany are kept.\n"}, "english", "README.md:2"),
    "awkward header": ({"holdfast/base/a.hpp": "#pragma once\n/// One byte, for\n/// who writes.\nint one();\n"}, "english",
                       "holdfast/base/a.hpp:2"),
    "awkward help text": ({"tools/CMakeLists.txt": "holdfast_add_command(b.cpp)\n",
                           "tools/b.cpp": 'const char* b = "Waited in vain";\n'}, "english", "tools/b.cpp:1"),
    "word for a thread in a page": ({"README.md": "It wakes\nwhoever waits.\n"}, "english", "README.md:2"),
    "unended": ({"README.md": "a"}, "end", "README.md:1"),
    "ratchet too wide": ({"tests/tidy_ratchet.txt": "holdfast/base/a.cpp function 90\n"}, "ratchet", "tests/tidy_ratchet.txt:1"),
    "ratchet too narrow": ({"holdfast/base/a.cpp": LONG_FUNCTION, "tests/tidy_ratchet.txt": "holdfast/base/a.cpp function 72\n"},
                           None, "function"),
}


def run(files):
    with tempfile.TemporaryDirectory() as directory:
        for path, text in files.items():
            path = os.path.join(directory, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        environment = dict(os.environ, GIT_CEILING_DIRECTORIES=os.path.dirname(directory))
        result = subprocess.run([sys.executable, TIDY, directory], capture_output=True, text=True, env=environment)
        return result.returncode, result.stdout.splitlines()[:-1]


def main():
    failures = []
    status, findings = run(CLEAN)
    if status != 0 or findings:
        failures.append(f"the clean tree has findings: {findings}")
    for name, (files, rule, where) in BREACHES.items():
        status, findings = run({**CLEAN, **files})
        if rule is None:
            wrong = len(findings) != 1 or "[function]" not in findings[0]
        else:
            wrong = len(findings) != 1 or f"[{rule}]" not in findings[0] or not findings[0].startswith(where + ":")
        if wrong or status == 0:
            failures.append(f"{name}: status {status}, {findings}")
    granted = {"holdfast/base/a.cpp": LONG_FUNCTION, "tests/tidy_ratchet.txt": "holdfast/base/a.cpp function 73\n"}
    if run({**CLEAN, **granted})[0] != 0:
        failures.append("a fitting line of the ratchet is not heard")
    print("\n".join(failures) or f"{len(BREACHES)} breaches, each found")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
