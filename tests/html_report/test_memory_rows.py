"""Which rows hold data that are still needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.device import preset
from npu_target.devices.gemmini.profile import PROFILE
from npu_target.html_report.memory_rows import LEVELS, in_use, memory_maps
from npu_target.html_report.slices import DTYPE
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
