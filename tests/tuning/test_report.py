from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from rich.console import Console

from npu_target.device import preset
from npu_target.device_api import HostCost
from npu_target.files import WriteError, check_can_write
from npu_target.topi import Add, Conv2d
from npu_target.tuning.errors import TuningError
from npu_target.tuning.layers import Layer
from npu_target.tuning.progress import TuningProgress
from npu_target.tuning.report import (
    DEFAULT,
    TUNED,
    LayerResult,
    make_console,
    to_json,
    write_json,
)

CONFIG = preset("gemmini-16x16")
CONV = Layer(Conv2d(1, 16, 16, 16, 16, 1, 1), 3)
RESULTS = [
    LayerResult(CONV, 1000, 400, TUNED, 12),
    LayerResult(Layer(Add(8, 8, 16), 1), 50, 50, DEFAULT),
]


def test_json_has_what_machines_need(tmp_path):
    write_json(tmp_path / "x.json", to_json(RESULTS, CONFIG, model="m"))
    value = json.loads((tmp_path / "x.json").read_text())
    assert value["total_cycles"] == 1250 and value["total_default_cycles"] == 3050
    assert value["model"] == "m" and value["device"] == CONFIG.name
    assert value["layers"][0] == {
        "name": CONV.name,
        "op": "conv2d",
        "count": 3,
        "macs": 65536,
        "default_cycles": 1000,
        "cycles": 400,
        "utilization": pytest.approx(0.64),
        "schedule": "tuned",
        "trials": 12,
    }
    assert "trials" not in value["layers"][1]


def test_json_has_what_the_host_does_and_what_is_packed():
    host = HostCost(instructions=250, commands=100, loop_bytes=1024, once_bytes=64, once_cycles=20)
    result = LayerResult(CONV, 1000, 400, TUNED, 12, host, ("weight",), is_new=True)
    (layer,) = to_json([result], CONFIG)["layers"]
    assert layer["host_instructions_per_command"] == pytest.approx(2.5)
    assert layer["loop_code_bytes"] == 1024
    assert layer["once_share"] == pytest.approx(0.05)
    assert layer["packed"] == ["weight"] and layer["is_new"] is True


def test_files_that_cannot_be_written(tmp_path):
    with pytest.raises(WriteError, match="is a folder"):
        check_can_write(tmp_path)
    with pytest.raises(WriteError, match="does not exist"):
        check_can_write(tmp_path / "no" / "x.json")
    with pytest.raises(TuningError, match="cannot be written"):
        write_json(tmp_path / "no" / "x.json", {})


def test_nobody_who_reads_any_more_is_no_error():
    """The job goes on, for the files that it writes."""
    script = (
        "import os, sys\n"
        "from npu_target.tuning.report import make_console\n"
        "reader, writer = os.pipe()\n"
        "os.dup2(writer, 1)\n"
        "os.close(reader)\n"
        "console = make_console()\n"
        "console.print('a table')\n"
        "console.print('another')\n"
        "sys.exit(7)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (7, "")


def test_progress_without_a_terminal_is_plain_lines():
    console = Console(file=io.StringIO(), width=120)
    with TuningProgress(console, 10, done_before=4) as progress:
        progress.stage("conv")
        progress.network(3050, 1250)
        progress.trial("conv", None)
        progress.trial("conv", "wrong_result")
    (line,) = console.file.getvalue().splitlines()
    assert line.startswith("[6/10] done  1,250 cycles (2.44x), ") and line.endswith(", 1 failed")
    assert progress.failures == {"wrong_result": 1} and progress.measured == 2


def test_progress_in_a_terminal_is_live():
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    with TuningProgress(console, 10) as progress:
        progress.stage("conv")
        progress.trial("conv", None)
    assert "conv" in console.file.getvalue() and "1/10" in console.file.getvalue()


def test_what_is_written_to_a_file_is_as_wide_as_it_needs_to_be(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    name = "conv2d_" + "9" * 300
    make_console().print(name)
    assert capsys.readouterr().out == name + "\n", "a name that is broken cannot be looked for"
    monkeypatch.setenv("COLUMNS", "100")
    make_console().print(name)
    assert max(map(len, capsys.readouterr().out.splitlines())) == 100
