"""Timelines: what viewers need, and what they say."""

from __future__ import annotations

import io
import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from command_lines import sim as main
from sim.streams import copy_program, loads_then_products, trace, write_lines

from npu_target.devices.gemmini import GEMMINI
from npu_target.devices.gemmini.profile import PROFILE
from npu_target.sim import timeline
from npu_target.sim.timeline import TimelineWriter


def events_of(path: Path):
    return json.loads(path.read_text())["traceEvents"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "t.jsonl", [trace("t", loads_then_products(6))])


def run(file: Path, *options: str) -> list[dict]:
    out = file.parent / "out.json"
    assert main(["run", str(file), "--timeline", str(out), *options]) == 0
    return events_of(out)


def test_lanes_and_names(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = run(file)
    assert capsys.readouterr().err == ""
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    slices = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            assert event.keys() >= {"name", "pid", "tid", "ts", "dur", "args"}
            slices[names[event["tid"]]].append(event)
    assert {"host", "load", "execute: compute", "execute: preload", "array"} <= set(slices)
    assert [e["name"] for e in slices["host"]][:2] == [
        "mvin  0x80000000 -> spad[0x1000], 16 cols, 16 rows",
        "preload  BD spad[0x1000] 16x16, C acc[0x0] 16x16",
    ]
    assert [e["args"]["command"] for e in slices["host"]] == list(range(18))
    assert [e["args"]["command"] for e in slices["execute: compute"]] == list(range(2, 18, 3))
    load = slices["load"][1]
    args = load["args"]
    assert args["entered"] < args["ready"] <= args["issued"] < load["ts"] < args["completed"]
    # The second load overwrites weights that the first product reads.
    assert args["waited_for"] == "execute, command 1"
    assert len(slices["DMA reads"]) + len(slices["DMA reads 1"]) == 6


def test_slices_of_a_lane_do_not_cross(tmp_path: Path) -> None:
    copy_program(lines=20).save(tmp_path / "copy.npu")
    lanes = defaultdict(list)
    for event in run(tmp_path / "copy.npu", "--repeat", "2"):
        if event["ph"] == "X":
            lanes[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    assert len(lanes) >= 5
    for spans in lanes.values():
        spans.sort()
        for (_, end), (start, later_end) in pairwise(spans):
            assert start >= end or later_end <= end


def test_the_array_lane_is_the_breakdown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = run(file, "--json")
    result = json.loads(capsys.readouterr().out)
    cycles = dict.fromkeys(PROFILE.reasons.values(), 0)
    end = 0
    for event in events:
        if event["ph"] == "X" and event["cat"] == "array":
            assert event["ts"] == end
            end += event["dur"]
            conflicts = event["args"].get("bank_conflict_cycles", 0)
            cycles[event["name"]] += event["dur"] - conflicts
            cycles["bank conflict"] += conflicts
    assert end == result["cycles"][0]
    assert list(cycles.values()) == list(result["breakdown"].values())


def test_a_window_has_what_touches_it(file: Path) -> None:
    whole = [e for e in run(file) if e["ph"] == "X"]
    part = [e for e in run(file, "--timeline-cycles", "100:200") if e["ph"] == "X"]
    inside = [e for e in whole if e["ts"] < 200 and e["ts"] + e["dur"] > 100]
    assert 0 < len(inside) < len(whole)
    # Lanes of the DMA are numbered by what is shown.
    keys = ("name", "ts", "dur", "args")
    assert [[e[k] for k in keys] for e in part] == [[e[k] for k in keys] for e in inside]


def test_too_many_slices_are_cut_with_a_word(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "MAX_SLICES", 30)
    slices = [e for e in run(file) if e["ph"] == "X"]
    assert len(slices) == 30
    out, err = capsys.readouterr()
    assert "cycles" in out
    assert "has the first 30 slices, up to about cycle" in err


def test_no_half_of_a_file_is_left(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    out = file.parent / "out.json"
    out.write_text("before")
    monkeypatch.setattr(timeline.TimelineWriter, "_events", full)
    assert main(["run", str(file), "--timeline", str(out)]) == 1
    assert out.read_text() == "before"
    assert sorted(p.name for p in file.parent.iterdir()) == ["out.json", "t.jsonl"]


def test_slices_are_written_as_they_come() -> None:
    file = io.BytesIO()
    writer = TimelineWriter(file, "title")
    writer.kind = GEMMINI
    words = [0, 5, 7, 0, 7, 0, 0, -1, -1, -1, -1, 3, -1, 0, 1, *[0] * 6]
    before = len(file.getvalue())
    assert writer.receive(b"".join(w.to_bytes(8, "little", signed=True) for w in words))
    assert len(file.getvalue()) > before
    writer.close()
    last = json.loads(file.getvalue())["traceEvents"][-1]
    assert (last["name"], last["ts"], last["dur"]) == ("flush", 5, 2)
