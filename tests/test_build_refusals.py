"""Builds and runs of them on what users get wrong: one line each, nothing left behind."""

from __future__ import annotations

import dataclasses
import json
import os

import pytest
from command_lines import build, refusal, run

from npu_target.build import write_built
from npu_target.built_file import Built
from npu_target.device import preset
from npu_target.tuning.errors import TuningError
from npu_target.tuning.header import Header
from npu_target.tuning.log import RECORDS_FILE

CONFIG = preset("gemmini-16x16")
HEADER = Header.of(CONFIG, "tiny", "")

pytestmark = pytest.mark.usefixtures("tiny_model")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model=alexnet", "-o", "x.so"], "unknown model 'alexnet'"),
        (["--model=tiny", "-o", "x.so", "--device=abacus"], "no device is called 'abacus'"),
        (["--model=tiny", "-o", "nowhere/x.so"], "the folder nowhere does not exist"),
        (["--model=tiny", "-o", "."], "is a folder, a file is needed"),
        (["--model=tiny", "-o", "x.so", "--json=no/x"], "the folder no does not exist"),
        (["--model=tiny", "-o", "x.so", "--weights=no.npz"], "no.npz"),
        (["--model=tiny", "-o", "x.so", "--dump=/dev/null/x"], "/dev/null/x cannot be written"),
    ],
)
def test_wrong_input_is_one_line(tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    assert says in refusal(build, capsys, *arguments)
    assert not list(tmp_path.iterdir())


def test_logs_of_another_device_are_refused(tmp_path, capsys):
    folder = tmp_path / CONFIG.name / "tiny"
    folder.mkdir(parents=True)
    Header.of(CONFIG.replace(dim=8), "tiny", "").write(folder)
    error = refusal(
        build, capsys, "--model=tiny", f"--logs={tmp_path}", "-o", str(tmp_path / "x.so")
    )
    assert "logs of another device" in error and "dim 8 (needed 16)" in error


def test_damaged_logs_are_refused(tmp_path, capsys):
    folder = tmp_path / CONFIG.name / "tiny"
    folder.mkdir(parents=True)
    HEADER.write(folder)
    (folder / RECORDS_FILE).write_text("[0, ")
    error = refusal(
        build, capsys, "--model=tiny", f"--logs={tmp_path}", "-o", str(tmp_path / "x.so")
    )
    assert "line 1 is cut off" in error


def test_a_device_whose_name_leads_elsewhere_is_refused(tmp_path, capsys):
    fields = {"kind": CONFIG.kind, **dataclasses.asdict(CONFIG), "name": "../../evil"}
    (tmp_path / "device.json").write_text(json.dumps(fields))
    logs = tmp_path / "a" / "logs"
    arguments = ["--model=tiny", f"--logs={logs}", f"--device={tmp_path / 'device.json'}"]
    error = refusal(build, capsys, *arguments, "-o", str(tmp_path / "x.so"))
    assert "name is '../../evil', must be 1 to 100 of the characters" in error
    assert [path.name for path in tmp_path.iterdir()] == ["device.json"]


def test_no_pipe_is_replaced_by_a_network(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    said = refusal(build, capsys, "--model=tiny", "-o", str(tmp_path / "pipe"))
    assert "pipe is a device or a pipe; a built network is a file" in said
    assert (tmp_path / "pipe").is_fifo() and len(list(tmp_path.iterdir())) == 1


def test_what_the_compiler_says_first_is_why(tmp_path):
    """What its last lines are, and TVM's, is who called whom."""

    class Executable:
        def export_library(self, path):
            raise RuntimeError(
                "Compilation error:\nld: final link failed: No space left on device\n"
                "collect2: error: ld returned 1 exit status\n\nCommand line: g++ -shared"
            )

    with pytest.raises(TuningError, match=r"x\.so cannot be made: ld: final link failed: No space"):
        write_built(Executable(), tmp_path / "x.so", Built("x", "gemmini-16x16", ()))
    assert not list(tmp_path.iterdir())


def test_running_what_is_not_there(tmp_path, capsys):
    from PIL import Image

    image = tmp_path / "image.bmp"
    Image.new("RGB", (8, 8)).save(image)
    (tmp_path / "text.so").write_text("no library")
    given = f"--input={image}"
    assert "is not there" in refusal(run, capsys, str(tmp_path / "none.so"), given)
    error = refusal(run, capsys, str(tmp_path / "text.so"), given)
    assert "text.so is not what npu-target build writes, or is cut off" in error
