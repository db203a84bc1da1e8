"""A machine that can be told from outside that its power fails, and what its persistent memory says of the save."""

import os
import pty
import socket
import struct
import subprocess

from machine import Machine

# What the monitor is told; the others are told on the console.
MONITOR = {"break": "chardev-send-break line", "nmi": "nmi", "button": "system_powerdown"}
CONSOLE = ("debug", "panic", "restart")
CARRIER = "carrier"
TRIGGERS = (CARRIER, *MONITOR, *CONSOLE)

# kernel/save.h: where the seal is, and what it says.
SEAL_OFFSET = 2048
SEALED, RESUMED = 0x6C616573, 0x00A5C35A
CARRIER_IS_THERE, CARRIER_IS_GONE = b"1", b"0"


def seal_in(image):
    """What the seal says, the times of the save in milliseconds, each with those before it, and how many bytes of
    programs' persistent memory were written back by address."""
    with open(image, "rb") as file:
        file.seek(SEAL_OFFSET)
        words = struct.unpack("<16Q", file.read(128))
    times = dict(zip(("stopped", "copied", "flushed", "alive"), (word / 1e6 for word in words[9:13])))
    return words[1] >> 32, times, words[13]


class SignalledMachine(Machine):
    """Has a monitor, a second serial port, and a console that can be typed on. The port is a terminal of the host's, the
    only kind whose modem's lines the emulator looks at; a terminal has none, so the library `shim` answers from a file."""

    def __init__(self, words, shim, lines):
        """`lines`: the path of that file."""
        self._lines_file = lines
        lines.write_bytes(CARRIER_IS_THERE)
        self._monitor, emulators = socket.socketpair()
        self._terminals = pty.openpty()
        words = [*words, "-chardev", f"socket,id=monitor,fd={emulators.fileno()}", "-mon", "chardev=monitor",
                 "-chardev", f"serial,id=line,path={os.ttyname(self._terminals[1])}", "-serial", "chardev:line"]
        environment = {**os.environ, "LD_PRELOAD": str(shim), "HOLDFAST_MODEM_LINES": str(lines)}
        super().__init__(words, stdin=subprocess.PIPE, env=environment, pass_fds=[emulators.fileno()])
        emulators.close()

    def signal(self, trigger):
        """Its power is about to fail."""
        if trigger == CARRIER:
            self._lines_file.write_bytes(CARRIER_IS_GONE)
        elif trigger in MONITOR:
            self._monitor.sendall(MONITOR[trigger].encode() + b"\n")
        else:
            self._process.stdin.write(trigger.encode() + b"\n")

    def cut(self):
        super().cut()
        self._process.stdin.close()
        self._monitor.close()
        for opened in self._terminals:
            try:
                os.close(opened)
            except OSError:
                pass
