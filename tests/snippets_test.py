#!/usr/bin/env python3
"""A broken snippet is caught. Usage: snippets_test.py COMPILER"""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import snippets  # noqa: E402

COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 else "c++"

GOOD = """# A page

<!-- snippet-setup: hello
#include <cstdio>
-->
Text between the pieces.

<!-- snippet: hello -->
```cpp
int main() {
```

More text.

<!-- snippet: hello -->
```cpp
    std::puts("hello");
}
```

<!-- output: hello -->
```text
hello
```

<!-- not compiled: a sketch -->
```cpp
...
```
"""


class Snippets(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        self.page = os.path.join(self.directory, "first-page.md")
        self.extracted = os.path.join(self.directory, "extracted")
        self.program = os.path.join(self.extracted, "first_page_hello")

    def call(self, *arguments):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = snippets.main(list(arguments))
        return status, said.getvalue()

    def extract(self, text):
        with open(self.page, "w", encoding="utf-8") as file:
            file.write(text)
        return self.call("extract", self.extracted, self.page)

    def compile(self):
        return subprocess.run([COMPILER, "-std=c++20", self.program + ".cpp", "-o", self.program],
                              capture_output=True, text=True)

    def run_program(self):
        os.chdir(self.directory)
        return self.call("run", self.program, self.program + ".out")[0]

    def test_a_page_without_programs_is_fine(self):
        self.assertEqual(self.extract("# Nothing\n"), (0, ""))

    def test_pieces_are_joined_and_the_program_prints_what_the_page_says(self):
        self.assertEqual(self.extract(GOOD), (0, "first_page_hello\n"))
        self.assertEqual(self.call("check", self.page), (0, ""))
        self.assertEqual(self.compile().stderr, "")
        self.assertEqual(self.run_program(), 0)

    def test_a_snippet_that_does_not_compile_is_named_by_page_and_line(self):
        self.extract(GOOD.replace("std::puts", "std::no_such_name"))
        result = self.compile()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("first-page.md:17:", result.stderr)

    def test_other_output_than_the_page_says_is_caught(self):
        self.extract(GOOD.replace('puts("hello")', 'puts("good bye")'))
        self.compile()
        self.assertEqual(self.run_program(), 1)

    def test_a_failing_program_is_caught(self):
        self.extract(GOOD.replace('"hello");', '"hello");\n    return 3;'))
        self.compile()
        self.assertEqual(self.run_program(), 1)

    def test_an_unmarked_block_is_caught(self):
        self.extract(GOOD.replace("<!-- not compiled: a sketch -->", ""))
        status, said = self.call("check", self.page)
        self.assertEqual(status, 1)
        self.assertIn("first-page.md:27:", said)

    def test_a_misspelt_mark_a_program_without_main_and_an_open_block_are_caught(self):
        for text in ("<!-- snippet hello -->\n", "<!-- snippet: hello -->\ntext\n", "```cpp\nint a;\n",
                     "<!-- snippet: hello -->\n```cpp\nint a;\n```\n", "<!-- output: other -->\n```text\na\n```\n"):
            self.assertEqual(self.extract(text)[0], 1, text)

    def test_a_program_that_left_the_page_leaves_the_build(self):
        self.extract(GOOD)
        self.extract("# Nothing\n")
        self.assertEqual(os.listdir(self.extracted), [])


if __name__ == "__main__":
    unittest.main()
