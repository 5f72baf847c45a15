"""What a folder of logs says of the command that made it."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.device import preset
from npu_target.pipeline_options import O0
from npu_target.tuning.errors import LogError
from npu_target.tuning.header import FORMAT, Header

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


HEADER = Header.of(CONFIG, "m", "", runner="board")
OTHERS = {
    "device": (Header.of(CONFIG.replace(dim=8), "m", "", runner="board"), "another device"),
    "model": (replace(HEADER, model="n"), "logs of model 'm', needed 'n'"),
    "pipeline": (replace(HEADER, pipeline=str(O0)), f"needed {O0}"),
    "runner": (replace(HEADER, runner="other"), "measured by board, needed those of other"),
    "simulator": (replace(HEADER, runner=""), "measured by board, needed those of the simulator"),
    "npu_target": (replace(HEADER, npu_target="0.0"), "this is npu_target 0.0"),
    "tvm": (replace(HEADER, tvm="0.0"), "this is tvm 0.0"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_logs_serve_whoever_differs_in_nothing_but_the_command(what):
    other, said = OTHERS[what]
    HEADER.check_usable_by(replace(HEADER, command="another"), Path("logs"))
    with pytest.raises(LogError, match=f"^logs .*{re.escape(said)}"):
        HEADER.check_usable_by(other, Path("logs"))


@given(st.sets(st.sampled_from(sorted(HEADER.device_numbers)), min_size=1))
def test_up_to_four_numbers_of_another_device_are_named(names):
    numbers = {name: value + (name in names) for name, value in HEADER.device_numbers.items()}
    other = replace(HEADER, device_hash="another", device_numbers=numbers)
    with pytest.raises(LogError) as error:
        HEADER.check_device(other, Path("logs"))
    shown = sorted(names)[:4]
    changes = [f"{name} {numbers[name] - 1} (needed {numbers[name]})" for name in shown]
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    assert f"; they differ in {', '.join(changes)}{more}; give " in str(error.value)


@given(st.sampled_from((HEADER, replace(HEADER, runner=""), replace(HEADER, pipeline=str(O0)))))
def test_what_is_written_is_read(tmp_path_factory, header):
    folder = tmp_path_factory.mktemp("header")
    header.write(folder)
    assert Header.read(folder) == header


@pytest.mark.parametrize("text", ["[]", "{}", json.dumps({"format": FORMAT + 1})])
def test_a_header_of_another_format_is_refused(tmp_path, text):
    (tmp_path / "header.json").write_text(text)
    with pytest.raises(LogError, match=f"not a header of format {FORMAT}; tune again"):
        Header.read(tmp_path)
