"""What a folder of logs says of the command that made it."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.device import preset
from npu_target.tuning.header import Header

CONFIG = preset("gemmini-16x16")


def kept(command: str) -> str:
    return Header.of(CONFIG, "m", command).command


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("tune.py --model resnet18 --logs /home/me/logs", "tune.py --model resnet18 --logs logs"),
        ("tune.py --logs=/home/me/logs/", "tune.py --logs=logs"),
        ("tune.py --model '/home/me/my net.onnx'", "tune.py --model 'my net.onnx'"),
        ("merge -o /a/b c/d && remeasure /a/b", "merge -o b c/d && remeasure b"),
        ("tune.py --logs /", "tune.py --logs /"),
        ("tune.py /a/b=c --set k=/a/b=c", "tune.py b=c --set k=b=c"),
        # Nothing to leave out: as it was written.
        ("tune.py --logs tuning_logs/mine", "tune.py --logs tuning_logs/mine"),
        ("written by hand (twice)", "written by hand (twice)"),
        ("it's no command line: /a/b", "it's no command line: /a/b"),
    ],
)
def test_a_command_names_no_folders_of_a_machine(command, expected):
    assert kept(command) == expected


def test_a_header_that_was_written_with_them_is_read_without(tmp_path):
    header = Header.of(CONFIG, "m", "tune.py --logs logs")
    header.write(tmp_path)
    path = tmp_path / "header.json"
    path.write_text(path.read_text("utf-8").replace("--logs logs", "--logs /a/logs"), "utf-8")
    assert Header.read(tmp_path) == header


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1))
def test_what_is_kept_is_kept_as_it_is(words):
    once = kept(shlex.join(words))
    assert kept(once) == once
