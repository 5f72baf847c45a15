"""Which rows hold data that are still needed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_target.device import preset
from npu_target.device.memory import Memories, Memory
from npu_target.devices.gemmini.isa import ConfigLd, ConfigSt, LocalAddress, Mvin, Mvout
from npu_target.devices.gemmini.profile import PROFILE
from npu_target.html_report.memory_rows import BANDS, COLUMNS, LEVELS, in_use, memory_maps
from npu_target.html_report.runs import run
from npu_target.html_report.slices import DTYPE
from npu_target.program import Arg, Operand, Program, device_command
from npu_target.sim.timeline import MEMORY_ROWS

CONFIG = preset("gemmini-16x16")
LOAD, COMPUTE = 1, 2  # lanes


@dataclass
class Access:
    issued: int
    completed: int
    reads: tuple[int, int] = (0, 0)
    writes: tuple[int, int] = (0, 0)
    lane: int = LOAD


def slices_of(accesses: list[Access]) -> np.ndarray:
    slices = np.zeros(len(accesses), DTYPE)
    for row, access in zip(slices, accesses, strict=True):
        row["lane"] = access.lane
        row["start"] = row["issued"] = access.issued
        row["end"] = row["completed"] = access.completed
        row["read_from"], row["read_to"] = access.reads
        row["written_from"], row["written_to"] = access.writes
    return slices


def used(accesses: list[Access], rows: int = 64) -> set[tuple[int, int]]:
    """(row, cycle) that are in use."""
    found = in_use(slices_of(accesses), 0, rows)
    return {(row, cycle) for row, a, b in zip(*found, strict=True) for cycle in range(a, b)}


def block(rows: range, cycles: range) -> set[tuple[int, int]]:
    return {(row, cycle) for row in rows for cycle in cycles}


def test_a_row_is_in_use_from_its_load_to_its_last_read():
    load = Access(10, 20, writes=(4, 6))
    reads = [Access(25, 30, reads=(4, 6)), Access(40, 49, reads=(4, 5))]
    assert used([load, *reads]) == {(4, c) for c in range(10, 50)} | {(5, c) for c in range(10, 31)}


def test_between_its_last_read_and_the_next_load_it_is_free():
    accesses = [
        Access(0, 9, writes=(0, 1)),
        Access(12, 19, reads=(0, 1)),
        Access(30, 39, writes=(0, 1)),
        Access(50, 59, reads=(0, 1)),
    ]
    assert used(accesses) == block(range(1), range(20)) | block(range(1), range(30, 60))


def test_sums_are_needed_by_what_is_added():
    accesses = [
        Access(0, 9, writes=(0, 1)),
        Access(30, 39, reads=(0, 1), writes=(0, 1)),
        Access(60, 69, reads=(0, 1)),
    ]
    assert used(accesses) == block(range(1), range(70))


def test_data_that_come_and_are_never_read_count_while_they_come():
    assert used([Access(5, 9, writes=(2, 3))]) == block(range(2, 3), range(5, 10))


def test_what_begins_to_come_in_the_cycle_after_a_read_does_not_hide_it():
    accesses = [
        Access(0, 9, writes=(0, 1)),
        Access(12, 19, reads=(0, 1)),
        Access(20, 29, writes=(0, 1)),
    ]
    assert used(accesses) == block(range(1), range(30))


def test_each_memory_has_rows_of_its_own():
    acc = MEMORY_ROWS
    accesses = [
        Access(0, 49, writes=(0, 16)),
        Access(50, 99, reads=(0, 16), lane=COMPUTE),
        Access(0, 24, writes=(acc + 1008, acc + 1024), lane=COMPUTE),
        Access(25, 49, reads=(acc + 1008, acc + 1024)),
    ]
    spad, sums = memory_maps(slices_of(accesses), PROFILE, CONFIG, 100)
    assert (spad["name"], sums["name"]) == ("scratchpad", "accumulator")
    assert (spad["most"], sums["most"]) == (16, 16)
    assert spad["average"] == pytest.approx(16)
    assert sums["average"] == pytest.approx(8)
    # 16 rows of 256, or of 16, in a band.
    assert spad["levels"][0] == "1" * 100
    assert set("".join(spad["levels"][1:])) == {"0"}
    assert sums["levels"][-1] == str(LEVELS) * 50 + "0" * 50
    assert set("".join(sums["levels"][:-1])) == {"0"}


RANGE = st.tuples(st.integers(0, 12), st.integers(1, 4)).map(lambda r: (r[0], r[0] + r[1]))


@given(st.lists(st.tuples(RANGE, st.booleans(), st.integers(1, 5)), max_size=15))
def test_a_history_of_single_accesses_is_what_stepping_through_it_gives(history):
    accesses, expected, last, time = [], set(), {}, 0
    for rows, is_write, length in history:
        end = time + length
        for row in range(*rows):
            if is_write:
                expected |= {(row, cycle) for cycle in range(time, end)}
            elif row in last:
                expected |= {(row, cycle) for cycle in range(last[row], end)}
            last[row] = end
        accesses.append(Access(time, end - 1, **{"writes" if is_write else "reads": rows}))
        time = end
    assert used(accesses) == expected


@st.composite
def memories(draw) -> Memories:
    """Two, of any size."""
    input_rows, sum_rows = (draw(st.integers(1, BANDS)) for _ in range(2))
    input_banks, sum_banks = (draw(st.integers(1, 4)) for _ in range(2))
    columns = draw(st.integers(1, 32))
    inputs = Memory(
        "global.inputs", "inputs", input_banks * input_rows, input_rows, columns, "int8"
    )
    sums = Memory("global.sums", "sums", sum_banks * sum_rows, sum_rows, columns, "int32")
    return Memories(inputs, inputs, sums)


@given(memories(), st.integers(1, 2 * COLUMNS), st.data())
def test_a_picture_is_of_the_rows_in_use(memories, cycles, data):
    accesses = []
    in_use_at = [np.zeros((memory.rows, cycles), int) for memory in memories.all]
    for place, memory in enumerate(memories.all):
        # Each has rows of its own.
        edges = data.draw(st.lists(st.integers(0, memory.rows), max_size=6).map(sorted))
        for row, other_row in zip(edges[::2], edges[1::2], strict=False):
            first, last = sorted(data.draw(st.integers(0, cycles - 1)) for _ in range(2))
            rows = (place * MEMORY_ROWS + row, place * MEMORY_ROWS + other_row)
            accesses.append(Access(first, last, writes=rows))
            in_use_at[place][row:other_row, first : last + 1] = 1
    maps = memory_maps(slices_of(accesses), PROFILE, SimpleNamespace(memories=memories), cycles)
    assert [found["row_bytes"] for found in maps] == [memories.inputs.columns * n for n in (1, 4)]
    for found, memory, used_at in zip(maps, memories.all, in_use_at, strict=True):
        assert [found[key] for key in ("name", "rows", "bank_rows")] == [
            memory.title, memory.rows, memory.bank_rows,
        ]  # fmt: skip
        assert found["average"] == pytest.approx(used_at.sum() / cycles)
        assert found["most"] == used_at.sum(axis=0).max()
        edges, band_rows = found["edges"], found["band_rows"]
        assert len(found["levels"]) == -(-memory.rows // band_rows) <= BANDS
        for band, levels in enumerate(found["levels"]):
            of_band = used_at[band * band_rows : (band + 1) * band_rows]
            columns = [of_band[:, a:b] for a, b in itertools.pairwise(edges)]
            expected = [-(-int(part.sum()) * LEVELS // part.size) for part in columns]
            assert list(map(int, levels)) == expected


@given(st.integers(0, CONFIG.spad_rows - 16), st.integers(0, CONFIG.acc_rows - 16))
@settings(max_examples=10, deadline=None)
def test_rows_are_told_where_commands_name_them(spad_row, acc_row):
    size = {"cols": 16, "rows": 16}
    places = (LocalAddress(spad_row), LocalAddress(acc_row, accumulator=True))
    body = [
        device_command(ConfigLd, stride_bytes=64, block_stride=16),
        device_command(ConfigSt, stride_bytes=16),
    ]
    body += [
        device_command(command, dram_address=Operand.argument(argument), local=place, **size)
        for argument, command in enumerate((Mvin, Mvout))
        for place in places
    ]
    args = (Arg("x", "input", "int32", (16, 16)), Arg("y", "output", "int8", (16, 16)))
    slices = run(Program("moves", CONFIG, args, tuple(body))).slices
    for kind in ("written", "read"):
        first, end = slices[f"{kind}_from"], slices[f"{kind}_to"]
        ranges = {(int(a), int(b)) for a, b in zip(first, end, strict=True) if a < b}
        assert ranges == {(row, row + 16) for row in (spad_row, MEMORY_ROWS + acc_row)}
