"""What tests marked `riscv` need: Debian's compilers for RISC-V and QEMU.

Run as a program it prints the packages that are missing, one a line.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

ELF_CC, LINUX_CC = "riscv64-unknown-elf-gcc", "riscv64-linux-gnu-gcc"
EMULATOR, SYSTEM_EMULATOR = "qemu-riscv64", "qemu-system-riscv64"

_PACKAGES = {
    "make": "make",
    ELF_CC: "gcc-riscv64-unknown-elf",
    LINUX_CC.replace("gcc", "g++"): "g++-riscv64-linux-gnu",
    EMULATOR: "qemu-user",
    SYSTEM_EMULATOR: "qemu-system-misc",
}


@cache
def missing_packages() -> tuple[str, ...]:
    missing = [package for tool, package in _PACKAGES.items() if shutil.which(tool) is None]
    if not _has_picolibc():
        missing.append("picolibc-riscv64-unknown-elf")
    return tuple(missing)


def _has_picolibc() -> bool:
    if shutil.which(ELF_CC) is None:
        return False
    command = [ELF_CC, "--specs=picolibc.specs", "-E", "-"]
    source = "#include <stdio.h>\nFILE f = FDEV_SETUP_STREAM(0, 0, 0, 0);"
    return subprocess.run(command, input=source.encode(), capture_output=True).returncode == 0


if __name__ == "__main__":
    print(*missing_packages(), sep="\n", end="")
