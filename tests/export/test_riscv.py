"""Exports on a RISC-V core, compiled by Debian's compilers, run by QEMU, the device simulated."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from exported_networks import copy_of, cycles_of, make
from riscv_tools import ELF_CC, EMULATOR, SYSTEM_EMULATOR

pytestmark = pytest.mark.riscv

NO_WARNINGS = "CFLAGS=-O2 -Werror"


@pytest.fixture(scope="module")
def built(exported) -> Path:
    """The small network without an operating system, compiled once."""
    folder = copy_of(exported, exported.parent / "built")
    done = make(folder, "-j2", NO_WARNINGS, "CXXFLAGS=-O1 -Werror", "elf", "check-elf")
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture
def folder(built, tmp_path) -> Path:
    return copy_of(built, tmp_path / "net")


def run_elf(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The program on an emulated core that has no device."""
    machine = ["-machine", "spike", "-m", "512M", "-bios", "none", "-display", "none"]
    console = ["-monitor", "none", "-serial", "stdio", "-kernel", "build/elf/net.elf"]
    command = [SYSTEM_EMULATOR, *machine, *console, *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def symbols(folder: Path) -> dict[str, int]:
    command = [ELF_CC.replace("gcc", "nm"), "build/elf/net.elf"]
    listed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    lines = [line.split() for line in listed.stdout.splitlines()]
    return {line[-1]: int(line[0], 16) for line in lines if len(line) == 3}


def memory(printed: str) -> dict[str, int]:
    """How many bytes of each region are used, as the linker says."""
    return {name: int(used) for name, used in re.findall(r"(FLASH|RAM): +(\d+) B", printed)}


def change(folder: Path, name: str, pattern: str, by: str) -> None:
    text = (folder / name).read_text()
    changed = re.sub(pattern, by, text, count=1)
    assert changed != text
    (folder / name).write_text(changed)


def test_the_program_gives_the_golden_output(exported, folder):
    """Without an operating system, the device's simulator beside the emulated core."""
    done = make(folder, NO_WARNINGS, "check-elf")
    assert (done.returncode, done.stderr) == (0, "")
    assert "output: 10 of 10 values equal" in done.stdout
    total = sum(cycles_of(exported).values())
    assert done.stdout.endswith(f"{total} cycles of the simulated device\n")
    used, of = map(int, re.search(r"(\d+) of (\d+) bytes of stack used", done.stdout).groups())
    assert 0 < used < of == 0x10000


def test_what_is_where(folder):
    done = make(folder, NO_WARNINGS, "elf", "STACK_BYTES=0x3000")
    assert (done.returncode, done.stderr) == (0, "")
    at, used = symbols(folder), memory(done.stdout)
    for name in ("net_arena", "net_weights", "golden_input", "golden_output", "output"):
        assert at[name] % 64 == 0, name
    assert at["_start"] == 0x80000000
    assert at["__stack"] % 16 == 0 and at["__stack"] - at["__stack_end"] == 0x3000
    flash = range(0x80000000, 0x80000000 + used["FLASH"])
    ram = range(0x88000000, 0x88000000 + used["RAM"] - 0x3000)
    assert at["net_weights"] in flash and at["net_run"] in flash
    assert at["net_arena"] in ram and at["tohost"] in ram


PLACES = {
    "constants above": ("FLASH=0x90000000", "RAM=0x80400000", "RAM_BYTES=0x40000"),
    "above 4 GiB": ("FLASH=0x180000000", "RAM=0x190000000", "STACK_BYTES=0x100000"),
}


@pytest.mark.parametrize("places", PLACES)
def test_it_runs_wherever_memory_is(exported, folder, places):
    stack = "STACK_BYTES=0x800"
    done = make(folder, NO_WARNINGS, stack, *PLACES[places], "check-elf")
    assert (done.returncode, done.stderr) == (0, "")
    assert "output: 10 of 10 values equal" in done.stdout


def test_it_runs_with_nothing_to_spare(exported, folder):
    stack = "STACK_BYTES=0x800"
    used = memory(make(folder, NO_WARNINGS, stack, "check-elf").stdout)
    flash, ram = (-(-used[region] // 0x1000) * 0x1000 for region in ("FLASH", "RAM"))
    places = f"FLASH_BYTES={flash}", f"RAM={0x80000000 + flash}", f"RAM_BYTES={ram}"
    done = make(folder, NO_WARNINGS, stack, *places, "check-elf")
    assert (done.returncode, done.stderr) == (0, "")
    assert "output: 10 of 10 values equal" in done.stdout


def test_a_core_without_floats_gives_the_same(folder):
    arch = "ARCH=-march=rv64imac -mabi=lp64 -misa-spec=2.2 -mcmodel=medany"
    emulator = f"SYSTEM_EMULATOR={SYSTEM_EMULATOR} -cpu rv64,f=false,d=false"
    done = make(folder, NO_WARNINGS, arch, emulator, "check-elf")
    assert (done.returncode, done.stderr) == (0, "")
    assert "output: 10 of 10 values equal" in done.stdout
    done = make(folder, NO_WARNINGS, emulator, "check-elf")
    assert done.returncode != 0 and "or no floats, which have some (ARCH)" in done.stdout


def test_other_cores_wait(folder):
    done = make(folder, NO_WARNINGS, f"SYSTEM_EMULATOR={SYSTEM_EMULATOR} -smp 4", "check-elf")
    assert done.returncode == 0 and done.stdout.count("values equal") == 1


@pytest.mark.parametrize(
    ("region", "given"), [("RAM", "RAM_BYTES"), ("FLASH", "FLASH_BYTES"), ("RAM", "STACK_BYTES")]
)
def test_the_linker_says_by_how_much_memory_is_too_small(folder, region, given):
    """Exactly: with so many bytes more, or less of stack, it suffices."""
    least = 0x2000 if given != "STACK_BYTES" else 0x8000000
    done = make(folder, NO_WARNINGS, f"{given}={least}", "elf")
    assert done.returncode != 0
    lacking = int(re.search(rf"`{region}' overflowed by (\d+) bytes", done.stderr)[1])
    for spare in (16, -16):
        # What is allotted at the ends are multiples of 16.
        more = -(-lacking // 16) * 16 + (spare if spare < 0 else 0)
        size = least - more if given == "STACK_BYTES" else least + more
        done = make(folder, NO_WARNINGS, f"{given}={size}", "elf")
        assert (done.returncode == 0) == (spare > 0), done.stderr


WRONG_PLACES = {
    "RAM_BYTES=0x7fffff8": "RAM + RAM_BYTES, where the stack begins, is no multiple of 16",
    "STACK_BYTES=0x1004": "STACK_BYTES is no multiple of 16",
    "STACK_BYTES=0x100": "STACK_BYTES is less than 1024",
    "RAM=0x80000000": "FLASH and RAM overlap",
    "RAM=0x180000000": "FLASH and RAM are more than 2 GiB apart",
}


@pytest.mark.parametrize("places", WRONG_PLACES)
def test_places_that_cannot_be_are_said_by_the_linker(folder, places):
    done = make(folder, NO_WARNINGS, places, "elf")
    assert done.returncode != 0 and WRONG_PLACES[places] in done.stderr


def test_an_emulator_without_that_memory_is_said(folder):
    done = make(folder, NO_WARNINGS, "FLASH=0x20000000", "RAM=0x40000000", "check-elf")
    assert done.returncode != 0
    assert "the emulated core has memory from 0x80000000 on" in done.stderr


@pytest.mark.parametrize("opcode", ["CUSTOM_0", "CUSTOM_1", "CUSTOM_2", "CUSTOM_3"])
def test_a_core_without_the_device_is_said(folder, opcode):
    assert make(folder, NO_WARNINGS, f"OPCODE={opcode}", "elf").returncode == 0
    done = run_elf(folder)
    assert done.returncode == 1
    assert "illegal instruction: cause 2 at pc 0x8" in done.stdout
    assert "a command; no device takes it on this core" in done.stdout


NO_MEMORY = r"\g<0>  volatile uintptr_t nowhere = 64; *(volatile int *)nowhere = 1;\n"
TRAPS = {
    "no memory to store to: cause 7 at pc 0x8[0-9a-f]*, value 0x40,": NO_MEMORY,
    "no memory to fetch from: cause 1 at pc 0x40, value 0x40,": (
        r"\g<0>  volatile uintptr_t nowhere = 64; ((void (*)(void))nowhere)();\n"
    ),
    "illegal instruction: cause 2 .*\n0x0000000b: a command; no device takes it": (
        r'\g<0>  __asm__ volatile(".word 0x0000000b");\n'
    ),
    "illegal instruction: cause 2 .*\n0x00000000: this core has no such instruction": (
        r'\g<0>  __asm__ volatile(".word 0");\n'
    ),
    "illegal instruction: cause 2 .*\n0x12302573: this core has no such control register": (
        r'\g<0>  __asm__ volatile("csrr a0, 0x123" ::: "a0");\n'
    ),
}


@pytest.mark.parametrize("says", TRAPS)
def test_a_trap_says_where_and_why(folder, says):
    change(folder, "main.c", r"int main\(void\) \{\n", TRAPS[says])
    assert make(folder, NO_WARNINGS, "elf").returncode == 0
    done = run_elf(folder)
    assert done.returncode == 1 and re.match(says, done.stdout)
    if "a command" not in says:  # also where commands trap into the mailbox
        done = make(folder, NO_WARNINGS, "check-elf")
        assert done.returncode != 0 and re.search(f"^{says}", done.stdout, re.MULTILINE)


def test_a_trap_in_a_trap_ends_the_program(folder):
    change(folder, "main.c", r"int main\(void\) \{\n", NO_MEMORY)
    change(folder, "platform/bare_metal.c", r"void core_report\(.*\{\n", NO_MEMORY)
    assert make(folder, NO_WARNINGS, "elf").returncode == 0
    done = run_elf(folder)
    assert (done.returncode, done.stdout) == (3, "")


DEEP = r"""
static int deep(int levels) {
  volatile char frame[256];
  for (unsigned i = 0; i < sizeof frame; ++i) frame[i] = 1;
  return levels == 0 ? 0 : deep(levels - 1) + frame[0];
}

\g<0>  deep(%d);
"""


@pytest.mark.parametrize("levels", [8, 100])
def test_a_stack_that_overflows_is_noticed(folder, levels):
    """And what it would need."""
    change(folder, "platform/riscv.c", r"void net_layer_end\(.*\n", DEEP % levels)
    done = make(folder, NO_WARNINGS, "STACK_BYTES=0x800", "check-elf")
    assert done.returncode != 0
    said = r"the stack has overflowed: (\d+) bytes are used, and 512 left free, of 2048"
    needed = int(re.search(said, done.stdout)[1]) + 512
    assert max(2048, levels * 256) < needed < (levels + 2) * 320 + 2048
    needed = -(-needed // 16) * 16
    assert make(folder, NO_WARNINGS, f"STACK_BYTES={needed}", "check-elf").returncode == 0


CHANGES = {
    "a command too many": (r"\n}\n\Z", "\n  npu(7, 0, 0);\n}\n", "issues too many commands"),
    "another word": (r"npu\((\d+), ", r"npu(\g<1> ^ 1, ", "the program has"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_commands_that_the_program_has_not_are_found(folder, what):
    pattern, by, says = CHANGES[what]
    change(folder, "kernels/kernel_fc.c", pattern, by)
    done = make(folder, NO_WARNINGS, "check-elf")
    assert done.returncode != 0 and re.search(f"^fc: .*{says}", done.stderr, re.MULTILINE)


def test_wrong_values_are_the_exit_code(folder):
    data = bytearray((folder / "golden/output.bin").read_bytes())
    data[3] ^= 0x40  # of the exponent
    (folder / "golden/output.bin").write_bytes(data)
    done = make(folder, NO_WARNINGS, "check-elf")
    assert done.returncode != 0 and "output: 9 of 10 values equal" in done.stdout


@pytest.mark.parametrize(
    ("tool", "goal"),
    [
        ("SYSTEM_EMULATOR", "check-elf"),
        ("EMULATOR", "check-emulated"),
        ("LINUX_CXX", "emulated"),
    ],
)
def test_what_is_not_installed_is_named(folder, tool, goal):
    done = make(folder, NO_WARNINGS, f"{tool}=nonesuch", goal)
    assert done.returncode != 0
    assert f"nonesuch is not installed: needed for {goal}" in done.stderr


def test_linux_without_the_device_is_said(exported, tmp_path):
    folder = copy_of(exported, tmp_path / "net")
    done = make(folder, NO_WARNINGS, "linux")
    assert (done.returncode, done.stderr) == (0, "") and re.search(r"text\s+data", done.stdout)
    ran = subprocess.run([EMULATOR, folder / "build/linux/net"], capture_output=True, text=True)
    assert ran.returncode == 1
    assert re.fullmatch(
        r"illegal instruction 0x\w{8} at 0x\w+: a command; no device takes it on this core .*\n",
        ran.stderr,
    )
