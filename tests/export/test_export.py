"""`python -m npu_target.export`: folders that build and are right, and what users get wrong."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from exported_networks import HAS_MAKE, SANITIZE, layer_cycles, make, simulator

from npu_target.export.cli import main

needs_make = pytest.mark.skipif(not HAS_MAKE, reason="needs gcc, g++ and make")


pytestmark = pytest.mark.usefixtures("tiny_model")


@pytest.fixture(scope="module")
def exported(tiny_model, tmp_path_factory) -> Path:
    """The small network, by default schedules; DIR.json beside it."""
    folder = tmp_path_factory.mktemp("export") / "net"
    arguments = ["--model=tiny", "--logs=none", f"--output={folder}", f"--json={folder}.json"]
    assert main(arguments) == 0
    return folder


def described(folder: Path) -> dict:
    return json.loads(Path(f"{folder}.json").read_text())


def copy_of(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


def check(folder: Path, simulated: Path):
    """`make check` of a folder whose simulator was made under the sanitizers."""
    return make(folder, *SANITIZE, f"SIMULATOR={simulator(simulated, *SANITIZE)}", "check")


@needs_make
def test_the_network_is_right_and_takes_the_cycles_of_the_build(exported, tmp_path):
    done = check(copy_of(exported, tmp_path / "net"), exported)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""  # no warning either
    layers = {
        layer["name"]: layer["cycles"]
        for layer in described(exported)["layers"]
        if layer["cycles"] is not None
    }
    assert layer_cycles(done.stdout) == layers
    assert f"tiny on gemmini-16x16: {sum(layers.values())} cycles on the device" in done.stdout
    assert "output: 10 of 10 values equal" in done.stdout


@needs_make
def test_a_network_without_hooks_compiles(exported, tmp_path):
    folder = copy_of(exported, tmp_path / "net")
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I."]
    command = ["gcc", *flags, "-DNPU_ISSUE=issue", "-c", "net.c", "host.c"]
    subprocess.run(command, cwd=folder, check=True)


@needs_make
def test_a_caller_may_give_integers(exported, tmp_path):
    folder = tmp_path / "net"
    arguments = ["--model=tiny", "--logs=none", f"--output={folder}", "--input=integer"]
    assert main(arguments) == 0
    header = (folder / "net.h").read_text()
    assert "int8_t image[3072];" in header
    assert "#define NET_INPUT_IMAGE_FACTOR 48.106056f" in header
    assert "nearbyintf" not in (folder / "host.c").read_text()
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


ELF_CC, LINUX_CC, EMULATOR = "riscv64-unknown-elf-gcc", "riscv64-linux-gnu-gcc", "qemu-riscv64"


def has_picolibc() -> bool:
    if shutil.which(ELF_CC) is None:
        return False
    command = [ELF_CC, "--specs=picolibc.specs", "-E", "-"]
    source = "#include <stdio.h>\nFILE f = FDEV_SETUP_STREAM(0, 0, 0, 0);"
    return subprocess.run(command, input=source.encode(), capture_output=True).returncode == 0


needs_elf = pytest.mark.skipif(
    not (HAS_MAKE and has_picolibc()), reason="needs riscv64-unknown-elf-gcc with picolibc"
)
needs_linux = pytest.mark.skipif(
    not HAS_MAKE or shutil.which(LINUX_CC) is None, reason="needs riscv64-linux-gnu-gcc"
)


@needs_elf
def test_it_links_without_an_operating_system(exported, tmp_path):
    folder = copy_of(exported, tmp_path / "net")
    done = make(folder, "CFLAGS=-O2 -Werror", "elf")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and re.search(r"FLASH: +\d+ B.*\n +RAM: +\d+ B", done.stdout)
    symbols = subprocess.run(
        [ELF_CC.replace("gcc", "nm"), "build/elf/net.elf"], cwd=folder, capture_output=True
    )
    places = {line.split()[-1]: int(line.split()[0], 16) for line in symbols.stdout.splitlines()}
    assert places[b"net_arena"] % 64 == 0 and places[b"net_arena"] >= 0x88000000
    assert places[b"net_weights"] % 64 == 0 and 0x80000000 <= places[b"net_weights"] < 0x88000000


@needs_elf
def test_memory_that_does_not_suffice_is_said_by_the_linker(exported, tmp_path):
    done = make(copy_of(exported, tmp_path / "net"), "RAM_BYTES=0x800", "STACK_BYTES=0x400", "elf")
    assert done.returncode != 0 and re.search(r"overflowed by \d+ bytes", done.stderr)


@needs_linux
def test_it_links_for_linux(exported, tmp_path):
    done = make(copy_of(exported, tmp_path / "net"), "CFLAGS=-O2 -Werror", "linux")
    assert (done.returncode, done.stderr) == (0, "")


@needs_linux
@pytest.mark.slow
@pytest.mark.skipif(shutil.which(EMULATOR) is None, reason="needs qemu-riscv64")
def test_an_emulated_core_says_the_same(exported, tmp_path):
    """With real command instructions, which trap into the simulator."""
    folder = copy_of(exported, tmp_path / "net")
    done = make(folder, "-j2", "CXXFLAGS=-O1", "check-emulated")
    assert done.returncode == 0, done.stdout + done.stderr
    cycles = {layer["name"]: layer["cycles"] for layer in described(exported)["layers"]}
    assert layer_cycles(done.stdout) == {name: n for name, n in cycles.items() if n is not None}


@needs_make
@pytest.mark.parametrize(("tool", "goal"), [("CC", "native"), ("CXX", "native"), ("ELF_CC", "elf")])
def test_what_is_not_installed_is_named(exported, tmp_path, tool, goal):
    done = make(copy_of(exported, tmp_path / "net"), f"{tool}=nonesuch-gcc", goal)
    assert done.returncode != 0
    assert f"nonesuch-gcc is not installed: needed for {goal}" in done.stderr


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


def test_the_same_network_is_exported_the_same(exported, tmp_path):
    folder = tmp_path / "again"
    assert main(["--model=tiny", "--logs=none", f"--output={folder}", "--input=integer"]) == 0
    (folder / "mine.c").write_text("")
    (folder / "kernels/old.c").write_text("")
    assert main(["--model=tiny", "--logs=none", f"--output={folder}"]) == 0  # over the other one
    assert (folder / "mine.c").exists() and not (folder / "kernels/old.c").exists()
    for path in exported.rglob("*"):
        if path.is_file():
            assert (folder / path.relative_to(exported)).read_bytes() == path.read_bytes()


def refused(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1, error
    return error


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model=alexnet", "-o", "net"], "unknown model 'alexnet'"),
        (["--model=tiny", "-o", "net", "--device=abacus"], "no device is called 'abacus'"),
        (["--model=tiny", "-o", "nowhere/net"], "the folder nowhere does not exist"),
        (["--model=tiny", "-o", "file"], "file is a file, a folder is needed"),
        (["--model=tiny", "-o", "full"], "full has other files in it"),
        (["--model=tiny", "-o", "other"], "other has other files in it"),
        (["--model=tiny", "-o", "net", "--json=no/x"], "the folder no does not exist"),
        (["--model=tiny", "-o", "net", "--logs=none", "--require-tuned"], "does not exist; tune"),
        (
            ["--model=tiny", "-o", "net", "--logs=none", "--memory=20000"],
            "needs 25,920 bytes of memory, 5,920 more than the 20,000 that there are",
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
    assert says in refused(capsys, *arguments)
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
    done = make(folder, f"SIMULATOR={simulator(folder)}", "check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert layer_cycles(done.stdout) == {
        layer["name"]: layer["cycles"] for layer in sizes["layers"] if layer["cycles"] is not None
    }


def test_golden_is_one_input_with_its_output(exported):
    assert (exported / "golden/input.bin").stat().st_size == 32 * 32 * 3 * 4
    output = np.frombuffer((exported / "golden/output.bin").read_bytes(), "float32")
    assert output.size == 16 and np.ptp(output[:10]) > 0 and not output[10:].any()


def test_programs_with_constants_of_their_own_are_refused(tmp_path, capsys):
    arguments = ["--model=tiny", "--logs=none", "--device=vta-1x16x16", "--for=linux"]
    assert main([*arguments, f"--output={tmp_path / 'net'}"]) != 0
    assert "programs of vta devices have constants of their own" in capsys.readouterr().err
    assert not (tmp_path / "net").exists()
