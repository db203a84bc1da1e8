#!/usr/bin/env python3
"""Cuts the power of an emulated machine with persistent memory, again and again, and verifies what is left.

usage: rig.py [--cuts N] [--seed S] [--engine E] [--jobs J] [--short | --module] [--kernel DIRECTORY] [--json FILE] BUILD_DIRECTORY

BUILD_DIRECTORY is where the target holdfast_rig was built. Exit status: 0, 1 where something was lost or torn or a
control was not found, 2 on wrong usage, 77 where something that the rig needs is not here.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import sys
import threading
import time
import types

import campaign
import initramfs
import kernel_module
import machine
from machine import Silence

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build" / "rig"

STEPS = ("stopped", "copied", "flushed")  # of a false alarm
WHAT_IT_SHOWS = """\
The machine is emulated. A cut loses what it had not executed yet; it never loses a dirty cache line: every store that
was executed is in the image, as on a machine whose caches are inside the persistence domain. Missing write-backs are
found by `holdfast crash`, which loses lines."""


def find_needs():
    if not shutil.which("qemu-system-x86_64"):
        raise initramfs.Missing("the rig needs qemu-system-x86: cmake/packages.sh rig installs it")
    if not (FOLDER / "packages").is_dir():
        raise initramfs.Missing("the rig needs a kernel to boot: cmake/unpack.sh downloads and unpacks it")


def make_files(build, built_kernel=None):
    """The kernel, the packages' or the one that was built in a folder, and the archive that it boots from."""
    find_needs()
    kernel = kernel_module.built_in(built_kernel) if built_kernel else kernel_module.packaged(FOLDER / "packages")
    guests = build / "parts/tests/rig/guest"
    programs = {"holdfast": ROOT / "build/holdfast", "rig_guest": guests / "rig_guest",
                "rig_guest_dnv": guests / "rig_guest_dnv", "rig_module_test": guests / "rig_module_test"}
    for path in programs.values():
        if not path.is_file():
            raise initramfs.Missing(f"no {path}: the target holdfast_rig makes it")
    mkfs = shutil.which("mkfs.ext4", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not mkfs:
        raise initramfs.Missing("the rig needs mkfs.ext4: cmake/packages.sh rig installs e2fsprogs")
    programs["mkfs.ext4"] = mkfs
    folder = FOLDER / f"machines-{os.getpid()}"
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / "initramfs"
    try:
        modules = {f"holdfast{'controls' * broken}.ko":
                   kernel_module.build(kernel.headers, ROOT / "kernel", folder / f"module{broken}", broken)
                   for broken in (False, True)}
    except kernel_module.DoesNotBuild:
        shutil.rmtree(folder)
        raise
    archive.write_bytes(initramfs.build(FOLDER / "packages", kernel.drivers, programs, ROOT / "tests/rig/guest/init",
                                        modules))
    for module in modules.values():
        shutil.rmtree(module.parent)
    return types.SimpleNamespace(kernel=kernel.image, initramfs=archive, folder=folder,
                                 shim=build / "parts/tests/rig/librig_modem_lines.so")


def suit_watchful_kernel():
    """It is slow, it needs memory for what it knows of memory, and its warnings come at any time."""
    for name in ("UP_SECONDS", "BOOT_SECONDS", "MODULE_SECONDS"):
        setattr(campaign, name, getattr(campaign, name) * 6)
    machine.MEMORY_MIB *= 2
    machine.CONSOLE_LEVEL = 5


class Run:
    """All cuts of one call: counted, told as they come, summed up."""

    def __init__(self, cuts, seed, files):
        self.cuts, self.seed, self.files = cuts, seed, files
        self._told = 0
        self._has_remarked = False
        self._lock = threading.Lock()
        self.life_seconds = []
        self.hung_boots = 0
        self.cpus = set()
        self.times = {}   # of saves, by case
        self.drills = {}  # times of false alarms, idle and under load
        self.done = types.SimpleNamespace(cuts=0, in_recovery=0, acknowledged=0, lost=[], torn=[])
        self.controls = {case.name(): {"cuts": 0, "found": 0} for case in campaign.CONTROLS}

    def run_case(self, case, cuts):
        victim = campaign.Victim(case, self.seed, self.files)
        is_clean = True
        for cut in range(cuts + 1):
            outcome = victim.live_and_die() if cut < cuts else victim.look()
            if outcome is not None:
                self._take(case, outcome)
                is_clean = is_clean and outcome.is_clean()
            if not is_clean and case not in campaign.CONTROLS:
                break
        with self._lock:
            self.life_seconds += victim.life_seconds
            self.hung_boots += victim.hung_boots
            self._remark(victim.remarks)
        if is_clean or case in campaign.CONTROLS:
            victim.remove_files()
        else:
            print(f"kept: {victim.image}, and what the machine said: {victim.console}", flush=True)

    def note_drills(self, what, rows):
        self.drills[what] = {"runs": len(rows), **{step: spread(values) for step, values in zip(STEPS, zip(*rows))}}

    def _remark(self, remarks):
        if remarks and not self._has_remarked:
            print("what `holdfast doctor` says in the machine:\n  " + "\n  ".join(remarks), flush=True)
            self._has_remarked = True

    def _take(self, case, outcome):
        with self._lock:
            self._told += outcome.cuts
            verdict = "all there" if outcome.is_clean() else "; ".join(outcome.lost + outcome.torn)
            if case in campaign.CONTROLS:
                self.controls[case.name()]["cuts"] += outcome.cuts
                self.controls[case.name()]["found"] += not outcome.is_clean()
                verdict = f"control: {'not found' if outcome.is_clean() else 'found, ' + verdict}"
            else:
                self.done.cuts += outcome.cuts
                if outcome.times:
                    self.times.setdefault(case.name(), []).append(outcome.times)
                self.done.in_recovery += outcome.in_recovery
                self.done.acknowledged += outcome.acknowledged
                self.done.lost += outcome.lost
                self.done.torn += outcome.torn
                self.cpus.add(outcome.cpus)
            recovery = f", {outcome.in_recovery} of them in recovery" if outcome.in_recovery else ""
            print(f"[{self._told:3}/{self.cuts}] {case.name()}, {outcome.cpus} CPUs: {outcome.cuts} cut"
                  f"{'s' if outcome.cuts > 1 else ''}{recovery}; {outcome.acknowledged} acknowledged; {verdict}", flush=True)


def share_out(cuts, cases):
    """(case, cuts) so that each has the same number, or one more."""
    shares = [(case, cuts // len(cases) + (at < cuts % len(cases))) for at, case in enumerate(cases)]
    return [(case, share) for case, share in shares if share]


def work_for(wanted, seed):
    """(case, cuts) of what the command asks for."""
    if wanted.engine:
        cases = [case for case in campaign.CASES + campaign.SIGNALLED + campaign.CONTROLS
                 if wanted.engine in (case.engine, case.name())]
        return share_out(wanted.cuts or 100, cases) if cases else []
    cases = list(campaign.CASES + campaign.SIGNALLED if wanted.short else campaign.CASES)
    random.Random(seed).shuffle(cases)
    if wanted.short:
        return share_out(wanted.cuts or 3, cases)
    return share_out(wanted.cuts or 100, cases) + [(case, case.cuts) for case in campaign.SIGNALLED + campaign.CONTROLS]


def run_all(run, work, jobs):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(run.run_case, case, cuts) for case, cuts in work]
        try:
            for each in concurrent.futures.as_completed(running):
                each.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def spread(values):
    return {"avg": round(sum(values) / len(values), 3), "min": min(values), "max": max(values)}


def is_module_good(run, times):
    """Tries it and says what is wrong."""
    problems, drills = campaign.try_module(run.files, run.seed, times)
    print("the kernel module: " + ("; ".join(problems) or "calls, permissions, ends of processes, registered logs and "
                                   "reloading are right"), flush=True)
    for what, rows in drills.items():
        run.note_drills(what, rows)
        print(f"false alarms, {what}, 1 MiB, ms from the signal on: "
              + ", ".join(f"{step} {of['avg']} ({of['min']} to {of['max']})" for step, of in run.drills[what].items()
                          if step != "runs"), flush=True)
    return not problems


def record_of(run, seconds):
    return {"campaign": "random cuts", "cuts": run.done.cuts, "acknowledged_lost": len(run.done.lost),
            "torn": len(run.done.torn), "controls_found": sum(control["found"] for control in run.controls.values()),
            "controls": run.controls,
            "cuts_in_recovery": run.done.in_recovery, "acknowledged": run.done.acknowledged,
            "cpus": sorted(run.cpus), "seed": run.seed, "seconds": round(seconds, 1),
            "false_alarm_ms": run.drills, "save_ms": {name: {step: spread([round(each[step], 3) for each in times])
                                                              for step in times[0]} for name, times in run.times.items()},
            "hung_boots": run.hung_boots, "seconds_per_cycle": round(sum(run.life_seconds) / max(1, len(run.life_seconds)), 2),
            "seconds_per_cycle_max": round(max(run.life_seconds, default=0), 2), "emulated": True}


def records_of(run):
    """Of the false alarms, in the form of the benchmarks' records: what `holdfast figures` draws."""
    return [{"suite": "rig", "case": "false_alarm", "engine": "module", "threads": 1,
             "params": {"machine": "idle" if what == "idle" else "busy", "emulated": "yes"}, "metric": f"{step}_ms",
             "unit": "ms", "value": row[step]["avg"], "min": row[step]["min"], "max": row[step]["max"],
             "runs": row["runs"]}
            for what, row in run.drills.items() for step in STEPS]


def parse(words):
    parser = argparse.ArgumentParser(description="Cuts an emulated machine's power and verifies what is left.")
    parser.add_argument("build", type=pathlib.Path, help="where the target holdfast_rig was built")
    parser.add_argument("--cuts", type=int, help="that many, besides those of the controls; default 100")
    parser.add_argument("--seed", type=int, help="of moments and workloads; default: a new one")
    parser.add_argument("--engine", help="only this one")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) // 2),
                        help="machines at a time; default: half as many as there are processors")
    parser.add_argument("--short", action="store_true", help="3 cuts of three cases, without the controls; all of them "
                        "where HOLDFAST_SOAK is in the environment")
    parser.add_argument("--module", action="store_true", help="no cuts; what the kernel module promises is tried")
    parser.add_argument("--kernel", type=pathlib.Path, help="a folder with a kernel that watches itself, built from "
                        "watchful_kernel.config; default: Debian's")
    parser.add_argument("--json", type=pathlib.Path, help="the record goes there, too")
    parser.add_argument("--times", type=pathlib.Path, help="records of the false alarms go there, for `holdfast figures`")
    wanted = parser.parse_args(words)
    wanted.short = wanted.short and "HOLDFAST_SOAK" not in os.environ
    return wanted


def main(words):
    wanted = parse(words)
    seed = wanted.seed if wanted.seed is not None else random.SystemRandom().randrange(1 << 32)
    work = work_for(wanted, seed)
    if not work:
        print(f"rig.py: there is no engine {wanted.engine}; there are " + "; ".join(sorted(
            {case.engine for case in campaign.CASES} | {case.name() for case in campaign.SIGNALLED + campaign.CONTROLS})),
            file=sys.stderr)
        return 2
    try:
        if wanted.kernel:
            suit_watchful_kernel()
        files = make_files(wanted.build.resolve(), wanted.kernel)
    except initramfs.Missing as reason:
        print(f"skipped: {reason}")
        return 77
    except kernel_module.DoesNotBuild as reason:
        print(f"rig.py: {reason}", file=sys.stderr)
        return 1
    print(f"{WHAT_IT_SHOWS}\nseed {seed}", flush=True)
    began = time.monotonic()
    run = Run(sum(share for _, share in work), seed, files)
    is_good = True
    try:
        if wanted.module or not (wanted.short or wanted.engine):
            is_good = is_module_good(run, 50 if wanted.module else 200)
        if not wanted.module:
            run_all(run, work, wanted.jobs)
    except Silence as reason:
        print(f"rig.py: {reason}", file=sys.stderr)
        return 1
    finally:
        files.initramfs.unlink()
        if not any(files.folder.iterdir()):
            files.folder.rmdir()
    if wanted.times:
        wanted.times.write_text(json.dumps(records_of(run), indent=1) + "\n")
    if wanted.module:
        return 0 if is_good else 1
    record = record_of(run, time.monotonic() - began)
    print(json.dumps(record))
    if wanted.json:
        wanted.json.write_text(json.dumps([record], indent=1) + "\n")
    missed = [f"{case.name()} (expected {case.found_at_least} of {case.cuts})" for case in campaign.CONTROLS
              if run.controls[case.name()]["found"] < case.found_at_least]
    if wanted.engine:
        missed = []
    if missed and not wanted.short:
        print(f"rig.py: too few cuts found the control {' and '.join(missed)}", file=sys.stderr)
    is_good = is_good and not run.done.lost and not run.done.torn and (wanted.short or not missed)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
