"""Transfers of the bus for rows that lie across its width, against the simulator's streams."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.device import preset
from npu_target.devices.gemmini.engine_cycles import load_row_cycles, row_beats
from npu_target.devices.gemmini.isa import ConfigLd, LocalAddress, Mvin
from npu_target.sim.run import Options, run_file

CONFIG = preset("gemmini-16x16")
LINE_BYTES = CONFIG.dma_request_bytes
RAM = 0x8000_0000
LOADS = 64


@given(row_bytes=st.integers(1, 256), apart_bytes=st.integers(1, 4096))
def test_rows_take_what_they_have_at_least_and_two_requests_a_line_more_at_most(
    row_bytes, apart_bytes
):
    beats = row_beats(row_bytes, apart_bytes, CONFIG)
    lines = row_bytes // LINE_BYTES + 2
    assert row_bytes / CONFIG.bus_bytes <= beats.total <= lines * LINE_BYTES / CONFIG.bus_bytes
    assert 0 <= beats.later < beats.total


@given(lines=st.integers(1, 4), apart=st.integers(1, 64))
def test_whole_lines_take_their_beats_and_no_line_twice(lines, apart):
    beats = row_beats(lines * LINE_BYTES, apart * LINE_BYTES, CONFIG)
    assert beats == (lines * LINE_BYTES / CONFIG.bus_bytes, 0)


@pytest.mark.parametrize("columns", [9, 16, 21, 32, 50, 64])
@pytest.mark.parametrize("apart_bytes", [67, 197, 208, 224, 256, 1000])
def test_rows_that_the_cache_has_stream_at_their_beats(apart_bytes, columns, tmp_path):
    """Within 30 %: a load's first row comes later than the others."""
    dim = CONFIG.dim
    across = max(1, apart_bytes // columns)
    commands = [ConfigLd(stride_bytes=apart_bytes, block_stride=dim)]
    for load in range(LOADS):
        address = RAM + load // across * dim * apart_bytes + load % across * columns
        local = LocalAddress(load % 4 * 4 * dim)
        commands.append(Mvin(dram_address=address, local=local, cols=columns, rows=dim))
    stream = tmp_path / "loads.jsonl"
    words = [[at, *command.encode()] for at, command in enumerate(commands, 1)]
    stream.write_text(json.dumps({"name": "loads", "setup": [], "commands": words}))
    warm_cycles = run_file(stream, Options(repeat=2))["runs"][1]["cycles"]
    cycles = load_row_cycles(columns, 1, apart_bytes, CONFIG)
    assert warm_cycles / (LOADS * dim) == pytest.approx(cycles, rel=0.3)
