"""Power cuts, and what must hold after each: nothing acknowledged is lost, nothing is torn."""

import dataclasses
import functools
import random
import re
import time

import signals
from machine import IMAGE_MIB, Machine, Silence, command

UP_SECONDS = 60         # until the kernel is up, at most, on a machine that does much else
BOOTS = 3               # at most, until one comes up: an emulated machine hangs in one of a hundred
BOOT_SECONDS = 120      # from then on
MODULE_SECONDS = 400    # all that the module promises, tried
WORK_SECONDS = 1.2      # a cut in the middle of work comes at most so long after what it waits for
RECOVERY_SECONDS = 0.5  # a cut in the middle of recovery, after its beginning
CPUS = (1, 2, 4)
KERNEL_WARNING = r"WARNING: |BUG: |UBSAN: |ODEBUG: "  # on the console of one that watches itself
HOMES_BYTES_AT_LEAST = 64 << 10  # of a pool that has been used for a moment, mapped when the kernel panics


@dataclasses.dataclass(frozen=True)
class Case:
    engine: str
    medium: str
    threads: int = 3
    pool: bool = True
    acknowledged_at_least: int = 1  # by each thread before the power may fail
    in_recovery: float = 0.25       # the share of the cuts that hit recovery
    cpus: tuple = CPUS              # of its lives in turn
    image_mib: int = IMAGE_MIB
    # Of a machine that is told that its power fails:
    trigger: str = ""               # by what
    power_seconds: float = 0        # the power lasts so long after it
    parameters: str = ""            # of the kernel module
    seal: int = 0                   # what the save's seal must say after the cut; 0: anything
    survives: str = "all"           # of what was acknowledged: all, none, or all or none
    has_region: bool = False        # an NVDIMM of the kernel module's own, beside that of the medium
    # Of a control:
    label: str = ""
    cuts: int = 10
    found_at_least: int = 2

    def name(self):
        return f"{self.label or self.engine} on {self.medium}" + (f", {self.trigger}" if self.trigger else "")

    def file_name(self):
        return self.name().replace(" on ", "-").replace(", ", "-").replace(" ", "_")


CASES = tuple(Case(engine, medium) for medium in ("fsdax", "devdax")
              for engine in ("redo", "undo", "softwrap_lat", "softwrap", "steal_no_force", "cc_htm", "line", "lines",
                             "dnv"))
CASES += tuple(Case(engine, "chunk") for engine in ("redo", "undo", "softwrap_lat", "cc_htm", "line", "dnv"))
# On ordinary files, what was not synced is lost with the machine's memory.
CASES += tuple(Case(engine, "file") for engine in ("redo", "softwrap_lat", "cc_htm", "line"))
CASES += tuple(Case("records", medium, pool=False) for medium in ("fsdax", "devdax", "chunk"))
CASES += (Case("chunks", "chunk", pool=False),)

# Wrong on purpose: one publishes a record before it is there, one acknowledges it before it is published. Between two
# cuts all slots are stored anew: what one cut tore is not found again after the next.
CONTROLS = tuple(Case(f"records_{what}_first", "devdax", pool=False, acknowledged_at_least=10, in_recovery=0)
                 for what in ("published", "acknowledged"))

# Logs in memory alone. The kernel module saves them when it is told that the power fails, and waits for the end.
SAVED = Case("saved", "chunk", pool=False, acknowledged_at_least=3, in_recovery=0, power_seconds=2, cuts=5,
             parameters="linger_us=20000000", seal=signals.SEALED)
RESUMED = dataclasses.replace(SAVED, label="saved, power stays", trigger="debug", power_seconds=0.5,
                              parameters="linger_us=1", seal=signals.RESUMED, survives="none")
# The power is gone before the save has ended, or just after it.
AMID = dataclasses.replace(SAVED, label="saved, cut amid the save", trigger="nmi", power_seconds=0.02, seal=0,
                           survives="all or none")
DECLINED = dataclasses.replace(SAVED, engine="saved_large", label="declined", trigger="debug", power_seconds=0.02,
                               parameters="linger_us=20000000,hold_up_us=10000", seal=0, acknowledged_at_least=2,
                               image_mib=256)
SIGNALLED = tuple(dataclasses.replace(SAVED, trigger=trigger) for trigger in signals.TRIGGERS)
# Pools that neither write back nor fence: the module saves their logs, and writes all caches back.
ARMED = tuple(Case(engine, "fsdax", acknowledged_at_least=3, in_recovery=0.25, power_seconds=2, cuts=cuts,
                   has_region=True, parameters="linger_us=20000000", trigger=trigger, seal=signals.SEALED)
              for engine, cuts in (("dnv_armed", 5), ("redo_armed", 2)) for trigger in signals.TRIGGERS)
# Without a file system; a panic finds what to write back in the page tables, which are other ones.
ARMED += tuple(Case("dnv_armed", medium, acknowledged_at_least=3, power_seconds=2, cuts=2,
                    has_region=medium != "chunk", parameters="linger_us=20000000", trigger=trigger, seal=signals.SEALED)
               for medium in ("devdax", "chunk") for trigger in ("nmi", "panic"))
ARMED += tuple(Case(engine, "fsdax", acknowledged_at_least=3, power_seconds=0.02, cuts=3, has_region=True,
                    parameters="linger_us=20000000,hold_up_us=10", trigger="debug")
               for engine in ("dnv_declined", "redo_declined"))
SIGNALLED += ARMED
# A pool on an ordinary file: the process syncs it when it is warned, and goes on until the power is gone.
WARNED = Case("redo_warned", "file", acknowledged_at_least=20, in_recovery=0, power_seconds=2, cuts=5, trigger="warning")
SIGNALLED += (WARNED,)
SIGNALLED += (dataclasses.replace(SAVED, engine="saved_idle", trigger="nmi", acknowledged_at_least=2),
              dataclasses.replace(SAVED, label="saved by stop_machine", trigger="debug",
                                  parameters=SAVED.parameters + ",stop=stop_machine"), RESUMED, DECLINED, AMID)


def _control(case, label, parameter):
    return dataclasses.replace(case, label=label, found_at_least=4, seal=0, cpus=(4,),
                               parameters=f"{case.parameters},{parameter}")


CONTROLS += (_control(dataclasses.replace(SAVED, engine="saved_silent", trigger="nmi"), "processors run on",
                      "control_fault=others_not_stopped"),
             _control(RESUMED, "resumed save counts", "control_fault=resumed_counts"),
             _control(DECLINED, "decline ignored", "control_decline_ignored=1"),
             dataclasses.replace(WARNED, engine="redo_unwarned", label="nobody warns", pool=False, found_at_least=4,
                                 trigger="no warning"))


@dataclasses.dataclass
class Outcome:
    """Of the cuts since the machine was last looked at: one, and those in the recovery after it."""
    cuts: int = 0
    in_recovery: int = 0
    cpus: int = 0
    acknowledged: int = 0
    lost: list = dataclasses.field(default_factory=list)
    torn: list = dataclasses.field(default_factory=list)
    times: dict = dataclasses.field(default_factory=dict)  # of the save, in milliseconds from the signal on

    def is_clean(self):
        return not self.lost and not self.torn


class Ledger:
    """What the machine acknowledges in its lives, and what it finds after a cut: fed with lines of its console."""

    def __init__(self, case):
        self._case = case
        self._newest = [0] * case.threads  # that each thread acknowledged, or that was found after a cut
        self._done_before = [0] * case.threads  # that was found after the cut before
        self.begin_life()

    def begin_life(self):
        self.acknowledged = [0] * len(self._newest)  # by each thread in this life
        self.is_verified = self.is_sound = self.has_ended = False
        self.lost, self.torn, self.remarks = [], [], []
        self._done = {}

    def hear(self, line):
        if found := re.fullmatch(r"a (\d+) (\d+)", line):
            thread, number = int(found[1]), int(found[2])
            if number <= self._newest[thread]:
                self.torn.append(f"thread {thread} acknowledged {number} after {self._newest[thread]}")
            self._newest[thread] = number
            self.acknowledged[thread] += 1
        elif found := re.fullmatch(r"done (\d+) (\d+)", line):
            self._done[int(found[1])] = int(found[2])
        elif line.startswith("problem "):
            self.torn.append(line.removeprefix("problem "))
        elif line.startswith("doctor "):
            self.remarks.append(line.removeprefix("doctor "))
        elif line == "sound":
            self.is_sound = True
        elif line == "verified":
            self.is_verified = True
            self._compare()
        elif "Kernel panic" in line:
            if self._case.trigger != "panic" or "sysrq" not in line:
                self.torn.append(line)
        elif re.search(KERNEL_WARNING, line):
            self.torn.append(line)
        elif line == "ended":
            self.has_ended = True
            if not self.torn:
                self.torn.append("the guest ended and did not say why")

    def _compare(self):
        """What is there against what was acknowledged. What was found once must stay."""
        if self._case.pool and not self.is_sound and not self.torn:
            self.torn.append("the guest did not say that the pool is sound")
        for thread, newest in enumerate(self._newest):
            done = self._done.get(thread)
            if done is None:
                self.torn.append(f"the guest did not say how many transactions of thread {thread} are there")
            elif self._case.survives == "none" or (self._case.survives != "all" and self._is_nothing_saved()):
                if done != self._done_before[thread]:
                    self.torn.append(f"transaction {done} of thread {thread} is there, which no save that counts has")
            elif done < newest:
                self.lost.append(f"thread {thread} had acknowledged transaction {newest}, but {done} is the last that is "
                                 "there")
            # Whatever is there: it is what the next life begins with.
            self._newest[thread] = done if done is not None else newest
        self._done_before = list(self._newest)

    def _is_nothing_saved(self):
        return self._done.get(0) == self._done_before[0]


def boot(start, words, hear=lambda line: None):
    """A machine whose kernel is up, and how many hung before it. Nothing of ours has run in those: init says `up` before
    it touches the persistent memory. What it says until then goes to `hear`."""
    for hung in range(BOOTS):
        machine = start(words)
        try:
            for line in machine.lines_until(lambda line: line in ("up", "ended"), UP_SECONDS):
                hear(line)
            return machine, hung
        except Silence:
            machine.cut()
            if hung + 1 == BOOTS:
                raise
        except BaseException:
            machine.cut()
            raise


def try_module(files, seed, times=50, start=Machine):
    """What the kernel module promises, without a cut. Processes end `times` times in each way. Returns what is wrong, and
    the times of drills, idle and under load: lists of (stopped, copied, flushed) in milliseconds."""
    image = files.folder / "module.img"
    settings = {"format": 0, "medium": "chunk", "region": 0, "engine": "module", "seed": seed, "times": times}
    with boot(start, command(image, files.kernel, files.initramfs, 2, settings))[0] as machine:
        is_last = ("verified", "ended").__contains__
        if machine.said[-1] != "ended":
            for _ in machine.lines_until(is_last, MODULE_SECONDS):
                pass
        lines = machine.said
    image.unlink(missing_ok=True)
    wrong = [line.removeprefix("problem ") for line in lines
             if line.startswith("problem ") or "Kernel panic" in line or re.search(KERNEL_WARNING, line)]
    drills = {}
    for line in lines:
        if found := re.fullmatch(r"times (\w+) ([\d.]+) ([\d.]+) ([\d.]+)", line):
            drills.setdefault(found[1], []).append(tuple(float(each) for each in found.groups()[1:]))
    return wrong or ([] if lines[-1] == "verified" else ["the guest ended and did not say why"]), drills


class Victim:
    """The machine of one case: it has an image, and many lives."""

    def __init__(self, case, seed, files, start=None):
        """`files` has the paths kernel, initramfs, shim and folder. `start` makes a machine of an emulator's command."""
        self.case = case
        self._random = random.Random(f"{seed}/{case.name()}")
        self._seed = self._random.randrange(1 << 32)
        self._first_cpus = self._random.randrange(len(case.cpus))
        self._files = files
        self.image = files.folder / f"{case.file_name()}.img"
        self.console = self.image.with_suffix(".txt")
        self.lines = self.image.with_suffix(".lines")
        self.region = self.image.with_suffix(".region") if case.has_region else None
        self._start = start or (functools.partial(signals.SignalledMachine, shim=files.shim, lines=self.lines)
                                if case.trigger else Machine)
        self.remove_files()
        self._ledger = Ledger(case)
        self._lives = 0
        self._pending = Outcome()
        self.remarks = []
        self.life_seconds = []
        self.hung_boots = 0

    def remove_files(self):
        for each in filter(None, (self.image, self.console, self.lines, self.region)):
            each.unlink(missing_ok=True)

    def live_and_die(self):
        """One more life, which ends in a cut. Returns the outcome of the cuts before it; None where it was not looked
        at, and in the first life. Throws Silence where the machine does not work at all."""
        cpus = self.case.cpus[(self._first_cpus + self._lives) % len(self.case.cpus)]
        in_recovery = self._lives > 0 and self._random.random() < self.case.in_recovery
        moment = self._random.uniform(0, RECOVERY_SECONDS if in_recovery else WORK_SECONDS)
        began = time.monotonic()
        with self._boot(cpus, work=1) as machine:
            self._listen(machine, lambda line: line == "verifying")
            if not in_recovery:
                self._listen(machine, lambda _: min(self._ledger.acknowledged) >= self.case.acknowledged_at_least)
            self._listen_for(machine, moment)
            # A machine that recovers has no log that could be saved.
            is_told = bool(self.case.trigger) and not in_recovery and not self._ledger.has_ended
            if is_told:
                machine.signal(self.case.trigger)
                self._listen_for(machine, self._power_seconds())
            machine.cut()
            self._listen_for(machine, moment)
            self._keep_console(machine)
        self.life_seconds.append(time.monotonic() - began)
        outcome = self._settle()
        if is_told:
            self._look_at_seal()
        self._pending.cuts += 1
        self._pending.in_recovery += in_recovery
        self._pending.cpus = cpus
        self._pending.acknowledged += sum(self._ledger.acknowledged)
        return outcome

    def _power_seconds(self):
        """A set time; at random up to it where the cut is to hit the save itself."""
        is_amid = self.case.survives == "all or none"
        return self._random.uniform(0, self.case.power_seconds) if is_amid else self.case.power_seconds

    def _look_at_seal(self):
        says, times, homes_bytes = signals.seal_in(self.region or self.image)
        is_panic = self.case.trigger == "panic" and self.case.has_region
        if is_panic and says == self.case.seal and homes_bytes < HOMES_BYTES_AT_LEAST:
            self._pending.torn.append(f"a panic wrote {homes_bytes} bytes of the pool back")
        if self.case.seal and says == self.case.seal:
            self._pending.times = times
        elif self.case.seal:
            self._pending.torn.append(f"after the cut the seal says {says:#x} instead of {self.case.seal:#x}")

    def look(self):
        """A last life, which only looks. Returns the outcome of the cuts before it."""
        with self._boot(1, work=0) as machine:
            self._listen(machine, lambda line: line == "verified")
            self._keep_console(machine)
        return self._settle()

    def _boot(self, cpus, work):
        settings = {"format": int(self._lives == 0), "medium": self.case.medium, "engine": self.case.engine,
                    "threads": self.case.threads, "seed": self._seed, "pool": int(self.case.pool), "work": work,
                    "region": int(self.case.has_region), "parameters": self.case.parameters, "module": "controls" if self.case in CONTROLS else ""}
        self._lives += 1
        self._ledger.begin_life()
        words = command(self.image, self._files.kernel, self._files.initramfs, cpus, settings, self.case.image_mib,
                        self.region)
        machine, hung = boot(self._start, words, self._ledger.hear)
        self.hung_boots += hung
        return machine

    def _listen(self, machine, is_last):
        """Until a line that is the last, or until the guest ends because it cannot go on."""
        def heard(line):
            self._ledger.hear(line)
            return is_last(line) or self._ledger.has_ended
        for _ in () if self._ledger.has_ended else machine.lines_until(heard, BOOT_SECONDS):
            pass

    def _listen_for(self, machine, seconds):
        for line in machine.lines(seconds):
            self._ledger.hear(line)

    def _keep_console(self, machine):
        with self.console.open("a") as file:
            file.write(f"--- life {self._lives}\n" + "\n".join(machine.said) + "\n")

    def _settle(self):
        """The outcome of the cuts before, if this life has looked at them."""
        ledger = self._ledger
        self.remarks += ledger.remarks
        if not ledger.is_verified and not ledger.torn:
            return None
        outcome, self._pending = self._pending, Outcome()
        outcome.lost, outcome.torn = ledger.lost, outcome.torn + ledger.torn
        if outcome.cuts == 0 and not outcome.is_clean():
            raise Silence(f"{self.case.name()}: the first life failed: {(outcome.torn + outcome.lost)[0]}; "
                          f"{self.console} has what the machine said")
        return outcome if outcome.cuts else None
