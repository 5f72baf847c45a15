"""An operator in a file of its own, outside of the package: found by an entry point, it takes part
in everything that the package's own do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scaled_network
import tvm
from markdown import ROOT, blocks

from npu_target.host import build_host, run_host

FILE = ROOT / "docs" / "channel_scale.py"
PAGE = ROOT / "docs" / "operators.md"


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """That of a process in which a package with the operator is installed."""
    site = tmp_path_factory.mktemp("site")
    shutil.copy(FILE, site)
    info = site / "channel_scale-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: channel-scale\nVersion: 1.0\n")
    place = "channel_scale = channel_scale:ChannelScale"
    (info / "entry_points.txt").write_text(f"[npu_target.operators]\n{place}\n")
    path = [str(site), str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def run(environment: dict[str, str], program: Path, *arguments: str) -> str:
    """What a process prints that has to end well."""
    done = subprocess.run(
        [sys.executable, str(program), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tuned(environment, tmp_path_factory) -> tuple[Path, dict]:
    """The logs of a short run, and its results."""
    folder = tmp_path_factory.mktemp("tuned")
    result = folder / "result.json"
    run(
        environment,
        Path(scaled_network.__file__),
        "tune",
        "--model=scaled",
        "--trials=12",
        "--servers=1",
        f"--logs={folder / 'logs'}",
        f"--json={result}",
    )
    return folder / "logs", json.loads(result.read_text())


@pytest.mark.long
@pytest.mark.rpc
def test_it_is_partitioned_tuned_and_rebuilt_from_the_logs(environment, tuned, tmp_path):
    logs, result = tuned
    (layer,) = result["layers"]  # both are one canonical operator
    assert (layer["name"], layer["count"]) == ("channel_scale_35x20", 2)
    assert 0 < layer["cycles"] <= layer["default_cycles"]
    # A build checks each program against NumPy before it goes into the file.
    file = tmp_path / "scaled.so"
    told = run(
        environment,
        Path(scaled_network.__file__),
        "build",
        "--model=scaled",
        "--require-tuned",
        f"--logs={logs}",
        f"--output={file}",
    )
    assert "programs compute what NumPy does" in told
    x = np.random.default_rng(1).integers(-128, 128, scaled_network.SHAPE).astype(np.int8)
    machine = tvm.relax.VirtualMachine(tvm.runtime.load_module(str(file)), tvm.cpu())
    found = machine["main"](tvm.runtime.tensor(x)).numpy()
    (wanted,) = run_host(build_host(scaled_network.network()), x)
    assert len(np.unique(wanted)) > 20
    np.testing.assert_array_equal(found, wanted)


CHECK = """
import numpy as np
import pytest
from channel_scale import ChannelScale
from kernel_runs import run_program

from npu_target.codegen_tir import build_program
from npu_target.device import kind_of, preset
from npu_target.schedule_rules import default_schedule
from npu_target.topi import make, operators, operators_of
from npu_target.tuning.expected import expected_output, sample_inputs
from npu_target.tuning.workload import operator_of, workload_module

for name in ("gemmini-8x8", "gemmini-16x16"):
    config = preset(name)
    numbers = kind_of(config).numbers
    assert operators_of(config)[-1] is operators()["channel_scale"] is ChannelScale
    sizes = ((1, 1, False), (37, 40, True), (200, 16, False), (16, 95, True))
    drawn = [ChannelScale(p, c, config.dim, relu, scale=0.01) for p, c, relu in sizes]
    for operator in (*drawn, *ChannelScale.examples(config)):
        assert make(operator.op, operator.attrs()) == operator
        assert operator_of(workload_module(operator, config)) == operator.canonical()
        inputs = sample_inputs(operator, 0)
        program = build_program(default_schedule(operator, config).mod["main"], config, "p")
        found = run_program(program, list(inputs.values()))
        np.testing.assert_array_equal(found, expected_output(operator, inputs, numbers))
        compact = inputs["factors"].astype(np.int64).sum(axis=1)
        exact = np.rint((inputs["x"] * compact).astype(np.float32) * np.float32(operator.scale))
        wanted = np.clip(exact, 0 if operator.relu else -128, 127)
        np.testing.assert_array_equal(found, wanted)
print("right")
"""


@pytest.mark.long
def test_its_default_schedule_computes_what_numpy_does(environment, tmp_path):
    program = tmp_path / "check.py"
    program.write_text(CHECK)
    assert run(environment, program) == "right\n"


def test_the_page_shows_the_file():
    """As it is, whole, in one block after another."""
    shown = "".join(block.text for block in blocks(PAGE, "py"))
    assert shown.split() == FILE.read_text().split()
