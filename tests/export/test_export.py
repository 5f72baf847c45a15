"""`npu-target export`: folders that build and are right, and what users get wrong."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command_lines import export as main
from command_lines import refusal
from exported_networks import (
    HAS_MAKE,
    SANITIZE,
    copy_of,
    cycles_of,
    described,
    layer_cycles,
    make,
    simulator,
)

needs_make = pytest.mark.skipif(not HAS_MAKE, reason="needs gcc, g++ and make")


pytestmark = pytest.mark.usefixtures("tiny_model")


def check(folder: Path, simulated: Path):
    """`make check` of a folder whose simulator was made under the sanitizers."""
    return make(folder, *SANITIZE, simulator(simulated, *SANITIZE), "check")


@pytest.mark.long
@needs_make
def test_the_network_is_right_and_takes_the_cycles_of_the_build(exported, tmp_path):
    done = check(copy_of(exported, tmp_path / "net"), exported)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""  # no warning either
    layers = cycles_of(exported)
    assert layer_cycles(done.stdout) == layers
    assert f"tiny on gemmini-16x16: {sum(layers.values())} cycles on the device" in done.stdout
    assert "output: 10 of 10 values equal" in done.stdout


@needs_make
def test_a_network_without_hooks_compiles(exported, tmp_path):
    folder = copy_of(exported, tmp_path / "net")
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I."]
    command = ["gcc", *flags, "-DNPU_ISSUE=issue", "-c", "net.c", "host.c"]
    subprocess.run(command, cwd=folder, check=True)


@pytest.mark.long
@needs_make
def test_a_caller_may_give_integers(exported, tmp_path):
    folder = tmp_path / "net"
    arguments = ["--model=tiny", "--logs=none", f"--output={folder}", "--input-type=integer"]
    assert main(arguments) == 0
    header = (folder / "net.h").read_text()
    assert "int8_t image[3072];" in header
    assert "#define NET_INPUT_IMAGE_FACTOR 48.106056f" in header
    assert "round_float32" not in (folder / "host.c").read_text()
    assert "* 48.106056f" in (folder / "README.md").read_text()
    golden = "golden/output.bin"
    assert (folder / golden).read_bytes() == (exported / golden).read_bytes()
    done = check(folder, exported)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "output: 10 of 10 values equal" in done.stdout


CHANGES = {
    "a wrong weight": ("weights.bin", rb"\A.{64}", lambda match: bytes(64), "WRONG"),
    "a wrong setting": (
        "net.c",
        rb"0x3b([0-9a-f]{14})u",
        lambda match: b"0x3c" + match[1] + b"u",
        "the program has 0 ",
    ),
    "a command too many": (
        "kernels/kernel_fc.c",
        rb"\n}\n\Z",
        lambda match: b"\n  npu(7, 0, 0);\n}\n",
        "the kernel issues too many commands",
    ),
    "no fence": (
        "net.c",
        rb"(kernel_conv1\(net[^\n]*\n)  npu_fence\(\);\n",
        lambda match: match[1],
        "nothing waits for the device",
    ),
    "another time": (
        "simulator/layers.inc",
        rb'("fc", \d+, \d+, )(\d+)',
        lambda match: match[1] + b"1",
        "fc took [0-9]+ cycles, the build says 1",
    ),
}


@pytest.mark.long
@needs_make
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_is_found(exported, tmp_path, change):
    folder = copy_of(exported, tmp_path / "net")
    name, pattern, by, says = CHANGES[change]
    data = (folder / name).read_bytes()
    changed = re.sub(pattern, by, data, count=1, flags=re.DOTALL if "weight" in change else 0)
    assert changed != data
    (folder / name).write_bytes(changed)
    done = check(folder, exported)
    assert done.returncode != 0
    assert re.search(says, done.stdout + done.stderr)


@needs_make
@pytest.mark.parametrize(
    ("tool", "goal"),
    [("CC", "native"), ("CXX", "native"), ("ELF_CC", "elf"), ("LINUX_CC", "linux")],
)
def test_what_is_not_installed_is_named(exported, tmp_path, tool, goal):
    done = make(copy_of(exported, tmp_path / "net"), f"{tool}=nonesuch-gcc", goal)
    assert done.returncode != 0
    assert f"nonesuch-gcc is not installed: needed for {goal}" in done.stderr


@needs_make
def test_a_compiler_without_its_library_is_named(exported, tmp_path):
    """gcc of another kind in place of the one with picolibc."""
    done = make(copy_of(exported, tmp_path / "net"), "ELF_CC=gcc", "elf")
    assert done.returncode != 0
    assert "gcc has no picolibc.specs: picolibc is needed for elf" in done.stderr


@needs_make
def test_a_machine_without_the_instruction_is_told(exported, tmp_path):
    command = ["gcc", "-I.", "-c", "net.c"]
    done = subprocess.run(
        command, cwd=copy_of(exported, tmp_path / "net"), capture_output=True, text=True
    )
    assert done.returncode != 0 and "no command instruction on this machine" in done.stderr


def test_the_arena_is_near_its_bound(exported):
    sizes = described(exported)
    assert sizes["arena_least_bytes"] <= sizes["arena_bytes"]
    assert sizes["arena_bytes"] <= 1.05 * sizes["arena_least_bytes"]


def test_the_c_around_kernels_can_be_read(exported):
    for name in ("net.h", "net.c", "host.c"):
        assert max(map(len, (exported / name).read_text().splitlines())) <= 100


def test_layers_that_differ_in_scales_share_a_kernel(exported):
    kernels = [layer["kernel"] for layer in described(exported)["layers"]]
    assert kernels.count("kernel_layer1_0_conv1") == 2
    assert len(list((exported / "kernels").iterdir())) == described(exported)["kernels"]


def test_the_readme_says_where_memory_is(exported):
    text = (exported / "README.md").read_text()
    sizes = described(exported)
    for nbytes in (sizes["arena_bytes"], sizes["weights_bytes"]):
        assert f"{nbytes:,}" in text
    assert (exported / "weights.bin").stat().st_size == sizes["weights_bytes"]
    for layer in sizes["layers"]:
        assert f"| {layer['name']} |" in text


@pytest.mark.long
def test_the_same_network_is_exported_the_same(exported, tmp_path):
    folder = tmp_path / "again"
    assert main(["--model=tiny", "--logs=none", f"--output={folder}", "--input-type=integer"]) == 0
    (folder / "mine.c").write_text("")
    (folder / "kernels/old.c").write_text("")
    assert main(["--model=tiny", "--logs=none", f"--output={folder}"]) == 0  # over the other one
    assert (folder / "mine.c").exists() and not (folder / "kernels/old.c").exists()
    for path in exported.rglob("*"):
        if path.is_file():
            assert (folder / path.relative_to(exported)).read_bytes() == path.read_bytes()


def test_an_export_compiles_as_it_is_told(exported, tmp_path, capsys):
    folder = tmp_path / "net"
    arguments = ["--model=tiny", "--logs=none", f"--output={folder}", "--pipeline=O0", "--explain"]
    assert main([*arguments, f"--json={folder}.json"]) == 0
    slower = cycles_of(folder)
    assert sum(slower.values()) > sum(cycles_of(exported).values())
    assert "Where each operation runs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model=alexnet", "-o", "net"], "unknown model 'alexnet'"),
        (["--model=tiny", "-o", "net", "--device=abacus"], "no device is called 'abacus'"),
        (["--model=tiny", "-o", "nowhere/net"], "the folder nowhere does not exist"),
        (["--model=tiny", "-o", "/proc/exported"], "/proc/exported cannot be written: "),
        (["--model=tiny", "-o", "file"], "file is a file, a folder is needed"),
        (["--model=tiny", "-o", "full"], "full has other files in it"),
        (["--model=tiny", "-o", "other"], "other has other files in it"),
        (["--model=tiny", "-o", "net", "--json=no/x"], "the folder no does not exist"),
        (
            ["--model=tiny", "-o", "net", "--logs=none", "--require-tuned"],
            "there are no tuning logs of tiny",
        ),
        (
            ["--model=tiny", "-o", "net", "--logs=none", "--most-memory=20000"],
            "needs 20,928 bytes of memory, 928 more than the 20,000 that there are",
        ),
    ],
)
def test_wrong_input_is_one_line(tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/net.h").write_text("int mine;")
    assert says in refusal(main, capsys, *arguments)
    assert not (tmp_path / "net").exists() and (tmp_path / "full/mine.txt").exists()


MODELS = ["resnet18", "resnet50", "mobilenet_v2", "bert_base", "matmuls"]


@needs_make
@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_right(model, tmp_path):
    folder = tmp_path / "net"
    assert main([f"--model={model}", f"--output={folder}", f"--json={folder}.json"]) == 0
    sizes = described(folder)
    assert sizes["arena_bytes"] <= 1.05 * sizes["arena_least_bytes"]
    done = make(folder, simulator(folder), "check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert layer_cycles(done.stdout) == cycles_of(folder)


def test_golden_is_one_input_with_its_output(exported):
    assert (exported / "golden/input.bin").stat().st_size == 32 * 32 * 3 * 4
    output = np.frombuffer((exported / "golden/output.bin").read_bytes(), "float32")
    assert output.size == 16 and np.ptp(output[:10]) > 0 and not output[10:].any()


@pytest.fixture(scope="module")
def vta(tiny_model, tmp_path_factory) -> Path:
    """The small network for a device whose programs have constants of their own."""
    folder = tmp_path_factory.mktemp("vta") / "net"
    arguments = ["--model=tiny", "--logs=none", "--device=vta-1x16x16", f"--output={folder}"]
    assert main([*arguments, f"--json={folder}.json"]) == 0
    return folder


@pytest.mark.long
@needs_make
def test_a_device_with_constants_in_its_programs(vta):
    done = check(vta, vta)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    layers = described(vta)["layers"]
    cycles = {layer["name"]: layer["cycles"] for layer in layers if layer["cycles"] is not None}
    assert cycles and layer_cycles(done.stdout) == cycles
    assert re.search(r"output: (\d+) of \1 values equal", done.stdout)


def test_commands_that_are_no_instructions_are_refused_for_the_core(tmp_path, capsys):
    arguments = ["--model=tiny", "--logs=none", "--device=vta-1x16x16"]
    for goal in ("linux", "baremetal"):
        assert main([*arguments, f"--for={goal}", f"--output={tmp_path / 'net'}"]) != 0
        error = capsys.readouterr().err
        assert "commands of vta devices are no instructions of a RISC-V core" in error
        assert error.count("\n") == 1 and not (tmp_path / "net").exists()


@pytest.mark.riscv
def test_make_says_that_such_commands_are_no_instructions(vta):
    done = make(vta, "elf")
    assert done.returncode != 0
    assert "commands of vta devices are no instructions of a RISC-V core" in done.stderr
