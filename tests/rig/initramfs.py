"""The file system that the rig's machine boots from: a cpio archive of packages' files and our own programs."""

import os
import pathlib
import re
import subprocess

DIRECTORY = 0o40755
PROGRAM = 0o100755
PLAIN = 0o100644
CONSOLE = 0o20600

# What an NVDIMM needs, and a character device on it, and the power button; what these need is read from them.
DRIVERS = ["nfit", "nd_pmem", "dax_pmem", "device_dax", "button"]


class Missing(Exception):
    """Something that the rig needs is not here; the text says what, and how to get it."""


class Archive:
    """A cpio archive of the format that the kernel unpacks ("newc")."""

    def __init__(self):
        self._parts = []
        self._names = set()

    def add(self, name, mode, data=b"", device=(0, 0)):
        """A file, with the directories above it. The same name twice is added once."""
        parent = os.path.dirname(name)
        if parent and parent not in self._names:
            self.add(parent, DIRECTORY)
        if name in self._names:
            return
        self._names.add(name)
        numbers = (len(self._names), mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name.encode()) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % number for number in numbers) + name.encode() + b"\0"
        self._parts += [head, b"\0" * (-len(head) % 4), data, b"\0" * (-len(data) % 4)]

    def bytes(self):
        self.add("TRAILER!!!", 0)
        return b"".join(self._parts)


def modules_in_order(folder, wanted):
    """The files of modules, each behind those that it needs. Their own ELF section says which these are."""
    files = {path.stem.replace("-", "_"): path for path in folder.rglob("*.ko")}
    order = []

    def add(name):
        if name not in files:
            raise Missing(f"no module {name} in {folder}")
        path = files[name]
        if path in order:
            return
        needs = re.search(rb"depends=([^\0]*)\0", path.read_bytes())
        for other in needs[1].decode().split(",") if needs and needs[1] else []:
            add(other.replace("-", "_"))
        order.append(path)

    for name in wanted:
        add(name)
    return order


def libraries_of(program):
    """The shared libraries that the loader finds for a program, with the paths where it looks for them."""
    said = subprocess.run(["ldd", str(program)], capture_output=True, text=True).stdout
    return sorted(set(re.findall(r"(?:=> |^\s*)(/\S+)", said, re.M)))


def build(packages, drivers, programs, init, own_modules):
    """The archive. `drivers` is the folder of the kernel's modules; None: it needs none. `programs` are paths of programs
    by their names in /bin, `own_modules` those of modules by theirs, which are loaded where they are wanted."""
    archive = Archive()
    for name in ("dev", "proc", "sys", "mnt", "tmp"):
        archive.add(name, DIRECTORY)
    archive.add("dev/console", CONSOLE, device=(5, 1))
    archive.add("init", PROGRAM, init.read_bytes())
    busybox = packages / "busybox-static" / "bin" / "busybox"
    if not busybox.is_file():
        raise Missing(f"no {busybox}: cmake/unpack.sh puts it there")
    archive.add("bin/busybox", PROGRAM, busybox.read_bytes())
    needed = modules_in_order(drivers, DRIVERS) if drivers else []
    for number, path in enumerate(needed):
        archive.add(f"modules/{number:02}-{path.name}", PLAIN, path.read_bytes())
    for name, module in own_modules.items():
        archive.add(name, PLAIN, module.read_bytes())
    for name, program in programs.items():
        archive.add(f"bin/{name}", PROGRAM, pathlib.Path(program).read_bytes())
        for library in libraries_of(program):
            archive.add(library.lstrip("/"), PROGRAM, pathlib.Path(library).read_bytes())
    return archive.bytes()
