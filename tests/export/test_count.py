"""`make count`: the instructions that an emulated core runs for each layer, and what is said of
them without one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_lines import export as main
from exported_networks import copy_of, described, host_network, make, simulator
from host_modules import Expr, dequantized, module, op, quantized
from tvm import relax

from npu_target.device import preset
from npu_target.export.folder import write_folder
from npu_target.export.golden import Golden
from npu_target.host import build_host, run_host

pytestmark = pytest.mark.riscv

# Registers that gcc keeps besides those that loops need, in kernels of a few hundred instructions.
FEW = 30


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
            assert count == pytest.approx(said, rel=0.05, abs=FEW), name
        else:
            assert count == pytest.approx(said, rel=0.25), name
    text = (exported / "README.md").read_text()
    for layer in described(exported)["layers"]:
        assert f"| {layer['instructions']:,} |" in text


def test_host_functions(exported, tmp_path):
    """Without a device: of each kind of function one."""

    def make_all(x: Expr, y: Expr) -> tuple[Expr, ...]:
        ones = relax.const(np.ones(48, "float32"))
        pooled = op.nn.max_pool2d(op.reshape(x, (1, 16, 12, 4)), (3, 3), (1, 1), layout="NHWC")
        return (
            quantized(x, 48.1),
            dequantized(y, 0.02),
            op.nn.softmax(x),
            op.permute_dims(x, [1, 0]),
            quantized(op.nn.layer_norm(x, ones, ones, -1), 17.9),
            quantized(op.sigmoid(dequantized(y, 0.03)), 100.0),
            op.matmul(x, op.permute_dims(x, [1, 0])),
            op.nn.relu(op.add(x, ones)),
            pooled,
        )

    mod = module([((16, 48), "float32"), ((40, 30), "int8")], make_all)
    random = np.random.default_rng(0)
    inputs = [
        random.normal(size=(16, 48)).astype("float32"),
        random.integers(-128, 128, (40, 30)).astype("int8"),
    ]
    network = host_network(mod, preset("gemmini-16x16"))
    folder = tmp_path / "net"
    golden = Golden(inputs, run_host(build_host(mod), *inputs))
    write_folder(folder, network, {}, golden, "native")
    done = make(folder, simulator(exported), "count")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    found = {line[2]: int(line[3]) for line in lines if len(line) == 4 and line[1] == "host"}
    said = {layer.name: layer.instructions for layer in network.layers}
    assert len(found) >= 9
    assert found == pytest.approx(said, rel=0.25)


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


@pytest.mark.slow
def test_resnet18_by_its_logs(tmp_path):
    folder = tmp_path / "net"
    assert main(["--model=resnet18", f"--output={folder}", f"--json={folder}.json"]) == 0
    for where, name, count, said in counted(folder):
        if where == "host":
            assert count == pytest.approx(said, rel=0.25), name
        else:
            assert count == pytest.approx(said, rel=0.05), name
