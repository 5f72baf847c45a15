"""`make count`: the instructions that an emulated core runs for each layer, and what is said of
them without one."""

from __future__ import annotations

from pathlib import Path

import pytest
from exported_networks import copy_of, described, make, simulator

from npu_target.export.cli import main

pytestmark = pytest.mark.riscv

# Of a kernel's call, which is not the program's: its arguments, the registers that it keeps.
CALL = 60


def counted(folder: Path) -> list[tuple[str, str, int, int]]:
    """Where each layer runs, its name, its instructions counted, and those that are said."""
    done = make(folder, simulator(folder), "count")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    lines = [line.split() for line in done.stdout.splitlines()]
    layers = described(folder)["layers"]
    found = [line for line in lines if len(line) == 4 and line[1] in ("device", "host")]
    assert [line[2] for line in found] == [layer["name"] for layer in layers]
    return [
        (line[1], line[2], int(line[3]), layer["instructions"])
        for line, layer in zip(found, layers, strict=True)
    ]


def test_a_small_network(exported):
    """With what the device wrote in memory, so that the outputs are right as well."""
    for where, name, count, said in counted(exported):
        if where == "device":
            assert said <= count <= 1.05 * said + CALL, name
        else:
            assert count == pytest.approx(said, rel=0.25), name
    text = (exported / "README.md").read_text()
    for layer in described(exported)["layers"]:
        assert f"| {layer['instructions']:,} |" in text


def test_outputs_are_compared(exported, tmp_path):
    folder = copy_of(exported, tmp_path / "net")
    # What the device writes is that of a run that is right.
    assert make(folder, simulator(exported), "build/count/results.bin").returncode == 0
    (folder / "golden/output.bin").write_bytes(bytes(64))
    done = make(folder, simulator(exported), "-o", "build/count/results.bin", "count")
    assert done.returncode != 0
    assert "output: 0 of 10 values equal" in done.stdout and "WRONG" in done.stdout


def test_what_is_not_installed_is_named(exported, tmp_path):
    folder = copy_of(exported, tmp_path / "net")
    done = make(folder, "SYSTEM_EMULATOR=nonesuch", "count")
    assert (
        done.returncode != 0
        and "nonesuch is not installed: needed for check-elf and count" in done.stderr
    )


# What gcc does otherwise than is charged. Constants that are in memory for want of registers are
# charged once an iteration, conv1's are loaded for each of their uses. The others: conditions of a
# variable that follow each other, which gcc joins.
OTHERWISE = {
    "conv1": (0.1, 0.2),
    "layer2_0_conv2": (-0.075, 0),
    "layer2_1_conv1": (-0.075, 0),
    "layer2_1_conv2": (-0.075, 0),
}


@pytest.mark.slow
def test_resnet18_by_its_logs(tmp_path):
    folder = tmp_path / "net"
    assert main(["--model=resnet18", f"--output={folder}", f"--json={folder}.json"]) == 0
    for where, name, count, said in counted(folder):
        if where == "host":
            assert count == pytest.approx(said, rel=0.25), name
        else:
            less, more = OTHERWISE.get(name, (-0.05, 0.05))
            assert less * said <= count - said <= more * said, name
