"""The kernel of the rig's machine, and the module, which is built for it."""

import dataclasses
import os
import pathlib
import shutil
import subprocess

from initramfs import Missing

SOURCES = ("Kbuild", "*.c", "*.h", "*.def")


class DoesNotBuild(Exception):
    """The compiler refused it; the text has what it said."""


def headers_in(packages):
    """The folder that kernel modules are built with. Its makefile names where the package would have been installed."""
    package = packages / "linux-headers-cloud-amd64"
    folders = [path for path in package.glob("usr/src/linux-headers-*") if not path.name.endswith("-common")]
    commons = list(package.glob("usr/src/linux-headers-*-common"))
    if len(folders) != 1 or len(commons) != 1:
        raise Missing(f"no kernel headers in {package}: cmake/unpack.sh puts them there")
    makefile, words = folders[0] / "Makefile", f"include {commons[0].resolve()}/Makefile\n"
    if makefile.read_text() != words:
        makefile.write_text(words)
    return folders[0]


@dataclasses.dataclass(frozen=True)
class Kernel:
    image: pathlib.Path
    headers: pathlib.Path         # that modules are built with
    drivers: pathlib.Path | None  # the folder of its modules; None: what the machine needs is in the image


def packaged(packages):
    package = packages / "linux-image-cloud-amd64"
    images = sorted(package.glob("boot/vmlinuz-*"))
    folders = sorted(package.glob("lib/modules/*/kernel"))
    if len(images) != 1 or len(folders) != 1:
        raise Missing(f"no kernel in {package}: cmake/unpack.sh puts it there")
    return Kernel(images[0], headers_in(packages), folders[0])


def built_in(folder):
    """The kernel that somebody has built there, from watchful_kernel.config."""
    image = folder / "arch/x86/boot/bzImage"
    if not image.is_file() or not (folder / "Module.symvers").is_file():
        raise Missing(f"no kernel in {folder}: make bzImage modules there")
    return Kernel(image, folder, None)


def build(headers, sources, into, controls=False):
    """Builds the module in the folder `into` and returns its path, with what breaks it on purpose if that is wanted. A
    copy is built: the kernel's makefiles leave files beside the sources."""
    into.mkdir(parents=True, exist_ok=True)
    for pattern in SOURCES:
        for path in sources.glob(pattern):
            shutil.copy2(path, into / path.name)
    done = subprocess.run(["make", "-C", str(headers), f"M={into.resolve()}", "W=1", "KCFLAGS=-Werror",
                           *(["HOLDFAST_CONTROLS=y"] if controls else []), "modules"],
                          capture_output=True, text=True, env={**os.environ, "MAKEFLAGS": "", "LC_ALL": "C"})
    if done.returncode != 0:
        raise DoesNotBuild(f"the kernel module does not build:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return pathlib.Path(into / "holdfast.ko")
