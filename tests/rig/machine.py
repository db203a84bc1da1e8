"""One emulated machine with persistent memory: started, listened to, and its power cut."""

import os
import queue
import subprocess
import threading
import time

IMAGE_MIB = 128
# A kernel that watches itself is granted more.
MEMORY_MIB = 512
CONSOLE_LEVEL = 1  # of the kernel's messages; from 5 on its warnings are on the console, between our lines


class Silence(Exception):
    """The machine did not say in time what was waited for; the text has its last lines."""


def command(image, kernel, initramfs, cpus, settings, image_mib=IMAGE_MIB, region=None):
    """How the emulator is called. Its persistent memory is the file `image`, shared, so that every store that the
    machine executed is in it when the emulator is killed; so is the file `region`, if there is one. The domain that it
    reports is the memory controller. The kernel stops where it finds a fault in itself. It leaves out the self tests of
    its cryptography, in which an emulated machine with more processors than the host has free can hang for minutes, and
    the check of its timer, which counts ticks in a time that a busy host takes away: it fails though the timer works."""
    settings = {**settings, "console": CONSOLE_LEVEL}
    words = " ".join(f"rig.{name}={value}" for name, value in settings.items())
    stores = [("store", image, image_mib)] + ([("region", region, IMAGE_MIB)] if region else [])
    nvdimms = [word for name, path, mib in stores
               for word in ("-object", f"memory-backend-file,id={name},share=on,mem-path={path},size={mib}M",
                            "-device", f"nvdimm,memdev={name},id=nvdimm-{name}")]
    return ["setpriv", "--pdeathsig", "KILL",  # a machine must not survive the rig
            "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(cpus),
            "-machine", "q35,nvdimm=on,nvdimm-persistence=mem-ctrl",
            "-m", f"{MEMORY_MIB},slots=2,maxmem=2G",
            *nvdimms,
            "-kernel", str(kernel), "-initrd", str(initramfs),
            "-append", f"console=ttyS0 quiet panic=-1 oops=panic panic_on_warn=1 cryptomgr.notests=1 no_timer_check mitigations=off {words}",
            "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio"]


class Machine:
    """Runs from construction until `cut`, or until the with-block ends."""

    def __init__(self, words, stdin=subprocess.DEVNULL, **more):
        self._process = subprocess.Popen(words, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                         bufsize=0, **more)
        self._lines = queue.Queue()
        self.said = []  # what has been given out, for messages
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cut()

    def _read(self):
        rest = b""
        while piece := os.read(self._process.stdout.fileno(), 65536):
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                self._lines.put(line.decode(errors="replace").strip("\r"))
        # A line without its end was being written when the power failed: it says nothing.
        self._lines.put(None)

    def lines(self, seconds):
        """Gives out lines until that much time has gone by, or the machine is down."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                line = self._lines.get(timeout=left)
            except queue.Empty:
                return
            if line is None:
                self._lines.put(None)
                return
            self.said.append(line)
            yield line

    def lines_until(self, is_last, seconds):
        """Gives out lines up to one that is the last. Throws Silence if there is none in time."""
        for line in self.lines(seconds):
            yield line
            if is_last(line):
                return
        status = self._process.poll()
        state = f"the emulator ended with status {status}" if status is not None else f"nothing in {seconds} s"
        raise Silence(f"{state}; the last lines of the console:\n  " + "\n  ".join(self.said[-20:]))

    def cut(self):
        """Cuts the power: nothing that the machine has not executed yet will happen. What it had said before is still
        given out by `lines`."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()
