#!/usr/bin/env python3
"""demonstrate.sh finds every acknowledged entry again: a line for each kill, and on a terminal one bar for each level."""

import os
import pty
import re
import subprocess
import sys
import unittest

KILLS = 5
SCRIPT, COMMAND = sys.argv.pop(1), sys.argv.pop(1)


def environment():
    return {**os.environ, "HOLDFAST_KILLS": str(KILLS), "HOLDFAST_LINES": "20000"}


def on_a_terminal(command):
    """(exit status, what it wrote)"""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(command[0], command, environment())
    written = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other end is closed.
            break
        if not part:
            break
        written += part
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), written.decode()


class Demonstrate(unittest.TestCase):
    def check_table(self, text):
        for level in ("process", "power"):
            row = re.search(rf"^{level} +\S+ +\d+ +(\d+) +\S+ +(\d+) +(\d+) ", text, re.M)
            self.assertIsNotNone(row, text)
            self.assertEqual(row.groups(), (str(KILLS), "0", "0"), "kills, lost, wrong")
        self.assertIn("no acknowledged entry was lost", text)

    def test_each_kill_is_a_line_and_recovered_records_are_explained(self):
        done = subprocess.run([SCRIPT, COMMAND], env=environment(), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "")
        self.check_table(done.stdout)
        self.assertEqual(len(re.findall(r"^  kill +\d+ after", done.stdout, re.M)), 2 * KILLS)
        self.assertIn("so expect 0 records to recover", done.stdout)
        self.assertNotIn("\r", done.stdout)
        self.assertNotIn("\x1b", done.stdout)

    def test_on_a_terminal_a_level_is_one_bar_with_a_mark_at_each_kill(self):
        status, text = on_a_terminal([SCRIPT, COMMAND])
        self.assertEqual(status, 0, text)
        self.check_table(text.replace("\r\n", "\n"))
        self.assertNotRegex(text, r"kill +\d+ after")
        bars = re.findall(r"\r  \[([=x ]{30})\] kill (\d+) of \d+, ([\d,]+) acknowledged ", text)
        self.assertGreaterEqual(len(bars), 2 * KILLS + 2)
        full = [bar for bar, kills, _ in bars if " " not in bar and kills == str(KILLS)]
        self.assertGreaterEqual(len(full), 2, "one for each level")
        for bar in full:
            self.assertIn("x", bar)
        # No line of its own for a bar but the last of a level.
        self.assertEqual(len(re.findall(r"acknowledged \x1b\[K\r?\n", text)), 2)


if __name__ == "__main__":
    unittest.main()
