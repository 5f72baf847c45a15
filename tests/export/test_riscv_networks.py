"""Whole networks on a RISC-V core, compiled by Debian's compilers and run by QEMU."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_lines import export as main
from exported_networks import copy_of, cycles_of, described, emulated_simulator, layer_cycles, make

pytestmark = pytest.mark.riscv

# The simulator takes longer to compile at -O2 than that saves here.
NO_WARNINGS = "CFLAGS=-O2 -Werror", "CXXFLAGS=-O1 -Werror"


@pytest.fixture(scope="module", params=["tiny", "mobilenet_v2", "resnet18"])
def network(request, tmp_path_factory, exported) -> Path:
    """The small network, and two with the schedules that were found for them."""
    if request.param == "tiny":
        return exported
    folder = tmp_path_factory.mktemp("export") / request.param
    assert main([f"--model={request.param}", f"--output={folder}", f"--json={folder}.json"]) == 0
    return folder


def name(network: Path) -> str:
    return described(network)["model"]


def test_it_is_linked_without_an_operating_system(network, tmp_path):
    done = make(copy_of(network, tmp_path / "net"), "-j2", *NO_WARNINGS, "elf")
    assert (done.returncode, done.stderr) == (0, "")
    print(f"\n{name(network)}, without an operating system:\n{done.stdout}")
    used = dict(re.findall(r"(FLASH|RAM): +(\d+) B", done.stdout))
    weights = (network / "weights.bin").stat().st_size
    assert weights < int(used["FLASH"]) < weights + (1 << 20)


def test_under_linux_it_gives_the_golden_output(network, tmp_path):
    """With real command instructions, which trap into the simulator, compiled for RISC-V."""
    folder = copy_of(network, tmp_path / "net")
    simulated = emulated_simulator(network, *NO_WARNINGS)
    done = make(folder, "-j2", *NO_WARNINGS, simulated, "linux", "check-emulated")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    sizes = re.search(r" +text.*\n.*\n", done.stdout)
    assert sizes is not None
    print(f"\n{name(network)}, under Linux:\n{sizes[0]}")
    assert re.search(r"output: (\d+) of \1 values equal\n", done.stdout)
    assert layer_cycles(done.stdout) == cycles_of(network)
