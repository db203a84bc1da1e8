#!/usr/bin/env python3
"""Shows that the rig finds what it looks for, on machines that only say what a test has them say."""

import dataclasses
import pathlib
import struct
import sys
import tempfile
import time
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import campaign
import initramfs
import rig
import signals
from machine import Machine, Silence

CASE = campaign.Case("redo", "fsdax", threads=2, in_recovery=0)
FIRST_LIFE = ["verifying", "sound", "done 0 0", "done 1 0", "verified", "a 0 1", "a 1 1", "a 0 2"]


HANGS = ["rcu: INFO: rcu_preempt self-detected stall on CPU"]


def saying(*lives):
    """Starts machines, one for each life, that say these lines behind `up` and stay on."""
    rest = list(lives)

    def start(_):
        said = rest.pop(0)
        return Machine(["sh", "-c", 'printf "%s\\n" "$@"; exec sleep 60', "sh", *([] if said is HANGS else ["up"]), *said])
    return start


class OnScratch(unittest.TestCase):
    def setUp(self):
        self._scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self._scratch.cleanup)
        folder = pathlib.Path(self._scratch.name)
        self._files = types.SimpleNamespace(kernel="kernel", initramfs="initramfs", folder=folder)
        for name, seconds in (("WORK_SECONDS", 0.05), ("BOOT_SECONDS", 5), ("UP_SECONDS", 0.5)):
            self.addCleanup(setattr, campaign, name, getattr(campaign, name))
            setattr(campaign, name, seconds)


class Verdicts(OnScratch):
    def outcome_of(self, *lives, case=CASE):
        victim = campaign.Victim(case, 1, self._files, start=saying(*lives))
        outcomes = [victim.live_and_die() for _ in lives[1:]] + [victim.look()]
        self.assertIsNone(outcomes[0])
        return outcomes[-1]

    def test_what_was_acknowledged_and_is_there_is_clean(self):
        outcome = self.outcome_of(FIRST_LIFE, ["sound", "done 0 2", "done 1 1", "verified"])
        self.assertTrue(outcome.is_clean(), outcome)
        self.assertEqual((outcome.cuts, outcome.acknowledged), (1, 3))

    def test_more_than_was_acknowledged_is_clean(self):
        self.assertTrue(self.outcome_of(FIRST_LIFE, ["sound", "done 0 9", "done 1 1", "verified"]).is_clean())

    def test_an_acknowledged_transaction_that_is_not_there_is_lost(self):
        outcome = self.outcome_of(FIRST_LIFE, ["sound", "done 0 1", "done 1 1", "verified"])
        self.assertEqual(len(outcome.lost), 1)
        self.assertIn("thread 0 had acknowledged transaction 2", outcome.lost[0])

    def test_what_was_found_once_must_stay(self):
        second = ["verifying", "sound", "done 0 5", "done 1 1", "verified", "a 0 6", "a 1 2"]
        outcome = self.outcome_of(FIRST_LIFE, second, ["sound", "done 0 6", "done 1 1", "verified"])
        self.assertEqual(len(outcome.lost), 1)

    def test_a_problem_that_the_guest_tells_is_torn(self):
        outcome = self.outcome_of(FIRST_LIFE, ["sound", "done 0 2", "done 1 1", "problem the vector holds something else",
                                               "verified"])
        self.assertEqual(outcome.torn, ["the vector holds something else"])

    def test_a_pool_of_which_nobody_said_that_it_is_sound_is_torn(self):
        self.assertEqual(len(self.outcome_of(FIRST_LIFE, ["done 0 2", "done 1 1", "verified"]).torn), 1)

    def test_a_thread_of_which_nothing_is_said_is_torn(self):
        self.assertEqual(len(self.outcome_of(FIRST_LIFE, ["sound", "done 0 2", "verified"]).torn), 1)

    def test_a_guest_that_cannot_go_on_after_a_cut_is_torn(self):
        self.assertEqual(self.outcome_of(FIRST_LIFE, ["problem mount failed", "ended"]).torn, ["mount failed"])

    def test_a_guest_that_ends_without_a_word_is_torn(self):
        self.assertEqual(len(self.outcome_of(FIRST_LIFE, ["ended"]).torn), 1)
        victim = campaign.Victim(CASE, 1, self._files, start=saying(FIRST_LIFE + ["ended"]))
        with self.assertRaisesRegex(Silence, "the first life failed"):
            victim.live_and_die()

    def test_a_panic_in_the_middle_of_work_is_torn(self):
        second = ["verifying", "sound", "done 0 2", "done 1 1", "verified", "a 0 3", "a 1 2",
                  "[ 3.1] Kernel panic - not syncing: panic_on_warn set"]
        outcome = self.outcome_of(FIRST_LIFE, second, ["sound", "done 0 3", "done 1 2", "verified"])
        self.assertEqual(len(outcome.torn), 0)  # of the last cut
        victim = campaign.Victim(CASE, 1, self._files, start=saying(FIRST_LIFE, second))
        victim.live_and_die()
        self.assertEqual(len(victim.live_and_die().torn), 1)

    def test_a_warning_of_a_kernel_that_watches_itself_is_torn(self):
        report = "[ 3.1] BUG: KASAN: slab-out-of-bounds in copy_log+0x54b/0x8f0 [holdfast]"
        outcome = self.outcome_of(FIRST_LIFE, ["sound", "done 0 2", "done 1 1", report, "verified"])
        self.assertEqual(outcome.torn, [report])
        self.assertEqual(campaign.try_module(self._files, 1, start=saying([report, "verified"]))[0], [report])

    def test_a_number_that_is_acknowledged_twice_is_torn(self):
        second = ["verifying", "sound", "done 0 2", "done 1 1", "verified", "a 0 2", "a 1 2"]
        victim = campaign.Victim(CASE, 1, self._files, start=saying(FIRST_LIFE, second))
        victim.live_and_die()
        self.assertEqual(len(victim.live_and_die().torn), 1)

    def test_a_machine_that_fails_in_its_first_life_is_no_finding(self):
        victim = campaign.Victim(CASE, 1, self._files, start=saying(["problem insmod failed", "ended"]))
        with self.assertRaisesRegex(Silence, "insmod failed"):
            victim.live_and_die()

    def test_a_machine_that_hangs_before_its_kernel_is_up_is_started_again(self):
        victim = campaign.Victim(CASE, 1, self._files, start=saying(HANGS, HANGS, FIRST_LIFE))
        victim.live_and_die()
        self.assertEqual(victim.hung_boots, 2)

    def test_a_machine_that_never_comes_up_is_no_all_clear(self):
        victim = campaign.Victim(CASE, 1, self._files, start=saying(HANGS, HANGS, HANGS))
        with self.assertRaisesRegex(Silence, "self-detected stall"):
            victim.live_and_die()

    def test_a_cut_in_recovery_counts_with_the_cut_before_it(self):
        always = campaign.Case("redo", "fsdax", threads=2, in_recovery=1)
        outcome = self.outcome_of(FIRST_LIFE, ["verifying"], ["sound", "done 0 2", "done 1 1", "verified"], case=always)
        self.assertEqual((outcome.cuts, outcome.in_recovery), (2, 1))
        self.assertTrue(outcome.is_clean())


    def test_what_is_wrong_with_the_module_is_told(self):
        def wrong(*lines):
            return campaign.try_module(self._files, 1, start=saying(list(lines)))[0]
        self.assertEqual(wrong("problem module: not so: others do not free", "verified"),
                         ["module: not so: others do not free"])
        self.assertEqual(wrong("verified"), [])
        self.assertEqual(len(wrong("ended")), 1)

    def test_the_times_of_drills_are_collected(self):
        said = ["times idle 1.5 2.0 2.5", "times idle 2.5 3.0 3.5", "times load 4 5 6", "verified"]
        drills = campaign.try_module(self._files, 1, start=saying(said))[1]
        self.assertEqual(drills, {"idle": [(1.5, 2, 2.5), (2.5, 3, 3.5)], "load": [(4, 5, 6)]})
        self.assertEqual(rig.spread([each[0] for each in drills["idle"]]), {"avg": 2.0, "min": 1.5, "max": 2.5})

    def test_the_times_of_drills_are_records_that_figures_draw(self):
        said = ["times idle 1.5 2.0 2.5", "times idle 2.5 3.0 3.5", "times load 4 5 6", "verified"]
        run = rig.Run(0, 1, self._files)
        for what, rows in campaign.try_module(self._files, 1, start=saying(said))[1].items():
            run.note_drills(what, rows)
        records = rig.records_of(run)
        self.assertEqual([(each["params"]["machine"], each["metric"], each["value"], each["runs"]) for each in records],
                         [("idle", "stopped_ms", 2.0, 2), ("idle", "copied_ms", 2.5, 2), ("idle", "flushed_ms", 3.0, 2),
                          ("busy", "stopped_ms", 4.0, 1), ("busy", "copied_ms", 5.0, 1), ("busy", "flushed_ms", 6.0, 1)])


class Signalled(Machine):
    """Is told that its power fails, and writes a seal to the image."""

    def __init__(self, words, image, says):
        super().__init__(words)
        self.signals = []
        self._image, self._says = image, says

    def signal(self, trigger):
        self.signals.append(trigger)
        seal = [0, self._says << 32 | 5, *[0] * 6, 2, 1_000_000, 2_000_000, 3_000_000, 9_000_000]
        self._image.write_bytes(b"\0" * signals.SEAL_OFFSET + struct.pack("<13Q", *seal) + b"\0" * 24)


class Saves(OnScratch):
    def outcome_after(self, case, says, found):
        """Of one cut behind a signal; `found` is how many transactions each thread has after it."""
        case = dataclasses.replace(case, threads=2, acknowledged_at_least=1, power_seconds=0.01)
        lives = [[*FIRST_LIFE[:1], "done 0 0", "done 1 0", "verified", *FIRST_LIFE[5:]],
                 [f"done 0 {found[0]}", f"done 1 {found[1]}", "verified"]]
        image = pathlib.Path(self._scratch.name) / f"{case.file_name()}.img"
        self.machines = []

        def start(_):
            words = ["sh", "-c", 'printf "%s\\n" "$@"; exec sleep 60', "sh", "up", *lives.pop(0)]
            self.machines.append(Signalled(words, image, says))
            return self.machines[-1]
        victim = campaign.Victim(case, 1, self._files, start=start)
        self.assertIsNone(victim.live_and_die())
        return victim.look()

    def test_a_machine_is_told_by_its_case_s_trigger_and_what_was_saved_is_clean(self):
        outcome = self.outcome_after(campaign.SIGNALLED[1], signals.SEALED, (2, 1))
        self.assertTrue(outcome.is_clean(), outcome)
        self.assertEqual(self.machines[0].signals, [campaign.SIGNALLED[1].trigger])
        self.assertEqual(outcome.times, {"stopped": 1, "copied": 2, "flushed": 3, "alive": 9})

    def test_a_save_that_was_not_sealed_in_time_is_torn(self):
        self.assertEqual(len(self.outcome_after(campaign.SIGNALLED[1], 0, (2, 1)).torn), 1)

    def test_what_no_save_has_is_lost(self):
        self.assertEqual(len(self.outcome_after(campaign.SIGNALLED[1], signals.SEALED, (0, 0)).lost), 2)

    def test_a_resumed_save_that_is_offered_is_torn(self):
        self.assertTrue(self.outcome_after(campaign.RESUMED, signals.RESUMED, (0, 0)).is_clean())
        self.assertEqual(len(self.outcome_after(campaign.RESUMED, signals.RESUMED, (1, 0)).torn), 1)

    def test_a_save_that_was_cut_is_there_for_all_threads_or_for_none(self):
        self.assertTrue(self.outcome_after(campaign.AMID, 0, (0, 0)).is_clean())
        self.assertTrue(self.outcome_after(campaign.AMID, signals.SEALED, (2, 1)).is_clean())
        self.assertFalse(self.outcome_after(campaign.AMID, 0, (0, 1)).is_clean())
        self.assertFalse(self.outcome_after(campaign.AMID, signals.SEALED, (2, 0)).is_clean())


class Machines(unittest.TestCase):
    def test_a_line_that_the_cut_ended_says_nothing(self):
        with Machine(["sh", "-c", 'printf "a 0 1\\na 0 12"; exec sleep 60']) as machine:
            time.sleep(0.2)
            machine.cut()
            self.assertEqual(list(machine.lines(5)), ["a 0 1"])

    def test_what_was_said_before_a_cut_is_heard_after_it(self):
        with Machine(["sh", "-c", "seq 1 20000; exec sleep 60"]) as machine:
            self.assertEqual(next(machine.lines(5)), "1")
            time.sleep(0.3)
            machine.cut()
            self.assertEqual(list(machine.lines(5))[-1], "20000")

    def test_silence_has_the_last_lines(self):
        with Machine(["sh", "-c", "echo kernel panic; exec sleep 60"]) as machine:
            with self.assertRaisesRegex(Silence, "kernel panic"):
                list(machine.lines_until(lambda line: line == "verified", 0.3))


class Archives(unittest.TestCase):
    def test_a_module_stands_behind_those_that_it_needs(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            for name, needs in (("nd_pmem", "libnvdimm,nd-btt"), ("nd_btt", "libnvdimm"), ("libnvdimm", "")):
                (folder / f"{name}.ko").write_bytes(b"\0license=GPL\0depends=" + needs.encode() + b"\0")
            names = [path.stem for path in initramfs.modules_in_order(folder, ["nd_pmem"])]
        self.assertEqual(names, ["libnvdimm", "nd_btt", "nd_pmem"])

    def test_a_missing_module_is_named(self):
        with tempfile.TemporaryDirectory() as scratch, self.assertRaisesRegex(initramfs.Missing, "no module nfit"):
            initramfs.modules_in_order(pathlib.Path(scratch), ["nfit"])

    def test_an_archive_has_the_directories_above_a_file_once(self):
        archive = initramfs.Archive()
        archive.add("bin/one", initramfs.PROGRAM, b"12345")
        archive.add("bin/two", initramfs.PLAIN)
        data = archive.bytes()
        self.assertEqual(len(data) % 4, 0)
        self.assertEqual(data.count(b"070701"), 4)
        self.assertEqual(data.count(b"bin\0"), 1)
        self.assertLess(data.index(b"bin\0"), data.index(b"bin/one\0"))


class Shares(unittest.TestCase):
    def test_cuts_are_shared_out_evenly(self):
        self.assertEqual(rig.share_out(5, ["a", "b", "c"]), [("a", 2), ("b", 2), ("c", 1)])
        self.assertEqual(rig.share_out(2, ["a", "b", "c"]), [("a", 1), ("b", 1)])


if __name__ == "__main__":
    unittest.main()
