"""What one MVIN or MVOUT may copy, at both sides of each limit."""

from __future__ import annotations

import pytest

from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.copy_rules import GemminiCopyRules
from npu_target.passes.copies import Load, Pooling, Stack, Store
from npu_target.passes.linear import Linear

CONFIG = GemminiConfig()
RULES = GemminiCopyRules(CONFIG)
MEMORIES = CONFIG.memories
ROW, COLUMN = Linear.loop(0), Linear.loop(1)
LOAD = Load(ROW, COLUMN, MEMORIES.inputs, "x", ROW * 64 + COLUMN + 7, 1, (ROW - 3, COLUMN * -1 + 5))
STORE = Store(ROW, COLUMN, MEMORIES.sums, "y", ROW * 64 + COLUMN, 1, ())


@pytest.mark.parametrize(
    ("copy", "block_rows", "reached"),
    [
        (LOAD, 0, False),
        (LOAD, 1, True),
        (LOAD, 65535, True),
        (LOAD, 65536, False),
        (STORE, CONFIG.dim - 1, False),
        (STORE, CONFIG.dim, True),
        (STORE, CONFIG.dim + 1, False),
    ],
)
def test_blocks_that_a_command_finds(copy, block_rows, reached):
    assert RULES.reaches_blocks(copy, block_rows) == reached


def test_columns_of_a_command():
    """64 bytes of DRAM a row, and a block where the store unit takes no more."""
    assert RULES.most_load_columns(1) == 64
    assert RULES.most_load_columns(4) == 16
    assert RULES.most_store_columns(STORE) == 64
    assert RULES.most_store_columns(STORE._replace(full_width=True)) == 16
    assert RULES.most_store_columns(STORE._replace(pooling=Pooling(2, 9))) == 16
    narrow = GemminiCopyRules(CONFIG.replace(name="narrow", dma_request_bytes=16))
    assert narrow.most_load_columns(1) == narrow.most_store_columns(STORE) == 16


def test_zeros():
    plain = RULES.filled(LOAD)
    assert (plain.source, plain.offset, plain.valid) == (None, Linear(), ())
    assert plain._replace(source="x", offset=LOAD.offset, valid=LOAD.valid) == LOAD
    stacked = RULES.filled(LOAD._replace(stack=Stack(5, 3)))
    assert (stacked.source, stacked.offset, stacked.valid) == (None, LOAD.offset, ())
    assert RULES.writes_unread_columns(LOAD)


def test_zeros_of_shrunk_loads_are_elements_times_0():
    """Of the first columns of the argument: as many as the load has."""
    load = LOAD._replace(memory=MEMORIES.sums, shrunk=True)
    zeros = RULES.filled(load)
    assert (zeros.source, zeros.scale, zeros.offset) == ("x", 0.0, COLUMN)
    assert zeros.valid == (COLUMN * -1 + 5,)
    assert not RULES.writes_unread_columns(load)
