"""What joined logs have of each other's records, measurements and failures."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm.s_tir import Schedule

from npu_target.device import preset
from npu_target.schedule_rules.traces import trace_json
from npu_target.topi import Add
from npu_target.tuning.candidate import RecordForm
from npu_target.tuning.header import Header
from npu_target.tuning.log import TuningLog, open_log, read_log
from npu_target.tuning.merge import merge
from npu_target.tuning.workload import operator_of, workload_module

CONFIG = preset("gemmini-16x16")
HEADER, OTHER = (Header.of(CONFIG, model, "") for model in ("model", "other"))
CYCLE = 1 / (CONFIG.clock_khz * 1e3)
MODULES = [workload_module(Add(16, 16 * n, 16).canonical(), CONFIG) for n in (1, 2, 3)]
NAMES = [operator_of(mod).name for mod in MODULES]
TRACES = [trace_json(Schedule(mod).trace) for mod in MODULES]

# Cycles of the records of each layer, and times of failures.
Content = tuple[list[list[int]], list[int]]
CYCLES = st.lists(st.integers(1, 6), max_size=4, unique=True)
CONTENTS = st.tuples(
    st.lists(CYCLES, min_size=len(MODULES), max_size=len(MODULES)),
    st.lists(st.integers(0, 3), max_size=2, unique=True),
)


def write(folder: Path, header: Header, content: Content) -> None:
    with open_log(folder, header) as log:
        for mod, name, trace, cycles in zip(MODULES, NAMES, TRACES, content[0], strict=True):
            for each in cycles:
                record = RecordForm.of(mod, CONFIG).record(trace, each * CYCLE)
                log.add_json(mod, record, {"task": name, "program": "", "cycles": each})
        for when in content[1]:
            failure = {"task": NAMES[0], "kind": "race", "message": "", "program": None}
            log.add_failure({**failure, "time": str(when)})


def records_of(log: TuningLog) -> list[list[int]]:
    return [[round(line.seconds / CYCLE) for line in log.records_of(mod)] for mod in MODULES]


def measured(log: TuningLog) -> set[tuple[str, int]]:
    found = [(entry["task"], entry["cycles"]) for entry in log.measurements]
    assert len(found) == len(set(found))
    return set(found)


@settings(max_examples=30, deadline=None)
@given(st.lists(CONTENTS, min_size=1, max_size=3), st.none() | st.integers(1, 3), st.booleans())
def test_equal_lines_are_joined_once_and_the_fastest_are_kept(contents, most, is_beneath):
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / str(number) for number in range(len(contents))]
        for folder, content in zip(folders, contents, strict=True):
            write(folder, HEADER, content)
        logs: list[TuningLog] = []
        for folder in folders:
            beneath = logs.pop() if is_beneath and logs else None
            logs.append(read_log(folder, HEADER, beneath))
        merged = merge(logs, Path(name) / "merged", "command", most)
        found = read_log(merged.folder, HEADER)
        layers = zip(*(content[0] for content in contents), strict=True)
        expected = [
            sorted({each for cycles in layer for each in cycles})[:most] for layer in layers
        ]
        assert records_of(found) == expected
        assert measured(found) == {
            (name, each) for name, cycles in zip(NAMES, expected, strict=True) for each in cycles
        }
        failed = {str(when) for content in contents for when in content[1]}
        times = [failure["time"] for failure in found.failures]
        assert sorted(times) == (sorted(failed) if most is None else [])
        assert (merged.records, merged.failures) == (sum(map(len, expected)), len(times))
        assert found.header.command == "command"


def test_of_another_model_only_the_layers_of_the_first_are_joined(tmp_path):
    write(tmp_path / "first", HEADER, ([[1], [2], []], []))
    write(tmp_path / "other", OTHER, ([[3], [2], [4]], [7]))
    logs = [read_log(tmp_path / "first", HEADER), read_log(tmp_path / "other", OTHER)]
    merged = merge(logs, tmp_path / "merged", "")
    found = read_log(merged.folder, HEADER)
    assert records_of(found) == [[1, 3], [2], []]
    assert measured(found) == {(NAMES[0], 1), (NAMES[0], 3), (NAMES[1], 2)}
    assert len(found.failures) == 1


@pytest.mark.parametrize("most", [None, 1])
def test_a_layer_that_the_first_lacks_is_nobodys_of_another_model(tmp_path, most):
    """Whoever of the others has it."""
    write(tmp_path / "first", HEADER, ([[1], [], []], []))
    write(tmp_path / "second", HEADER, ([[], [5], []], []))
    write(tmp_path / "other", OTHER, ([[2], [3], []], []))
    headers = {"first": HEADER, "second": HEADER, "other": OTHER}
    logs = [read_log(tmp_path / name, header) for name, header in headers.items()]
    merged = merge(logs, tmp_path / "merged", "", most)
    assert records_of(read_log(merged.folder, HEADER)) == [[1, 2][:most], [5], []]
