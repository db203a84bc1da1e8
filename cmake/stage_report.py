#!/usr/bin/env python3
"""stage_report.py BUILD_DIRECTORY SINCE: what took longest of what was built there since that time (seconds of the epoch)
and of its last test run, and which test cases were skipped, with their reasons."""
import collections
import pathlib
import re
import sys

MOST = 6


def built(directory, since):
    """(seconds, output) of the outputs that were made since then, by ninja's log."""
    log = directory / ".ninja_log"
    if not log.is_file():
        return []
    rows = [line.split("\t") for line in log.read_text().splitlines() if not line.startswith("#")]
    newest = {output: (int(begin), int(end)) for begin, end, made_ns, output, _ in rows if int(made_ns) >= since * 10**9}
    return [((end - begin) / 1000, output) for output, (begin, end) in newest.items()]


def tests(directory):
    """(seconds, name) of the tests of the last run, and the names of skipped cases by reason."""
    log = directory / "Testing" / "Temporary" / "LastTest.log"
    timed, skipped = [], collections.defaultdict(list)
    if not log.is_file():
        return timed, skipped
    name, reason = "", ""
    lines = log.read_text(errors="replace").splitlines()
    for at, line in enumerate(lines):
        if found := re.match(r"\d+/\d+ Testing: (.*)", line):
            name = found[1]
        elif found := re.match(r"Test time = +([0-9.]+) sec", line):
            timed.append((float(found[1]), name))
        elif line.startswith("skipped: "):  # a script's
            skipped[line.removeprefix("skipped: ")].append(name)
        elif line.endswith(": Skipped") and at + 1 < len(lines):
            reason = lines[at + 1]
        elif found := re.match(r"\[  SKIPPED \] (\S+) \(\d+ ms\)", line):
            skipped[reason].append(found[1])
    return timed, skipped


def print_longest(title, rows):
    if not rows:
        return
    print(f"{title}, {len(rows)} in {sum(seconds for seconds, _ in rows):.0f} s of all processors; the longest:")
    for seconds, name in sorted(rows, reverse=True)[:MOST]:
        print(f"  {seconds:7.1f} s  {name}")


def main():
    directory = pathlib.Path(sys.argv[1])
    print_longest("built", built(directory, float(sys.argv[2])))
    timed, skipped = tests(directory)
    print_longest("tests", timed)
    for reason, cases in sorted(skipped.items()):
        more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        print(f"skipped: {reason}: {cases[0]}{more}")


if __name__ == "__main__":
    main()
