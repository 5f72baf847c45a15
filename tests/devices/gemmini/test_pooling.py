"""Which loops over windows the store unit walks itself."""

from __future__ import annotations

import pytest

from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.copy_rules import GemminiCopyRules
from npu_target.devices.gemmini.pooling import pooled_walk
from npu_target.passes.copies import Pooling, Store
from npu_target.passes.errors import CodegenError, DoesNotFit
from npu_target.passes.linear import Linear, combine
from npu_target.passes.transfers import LoopExtent, plan_transfer

CONFIG = GemminiConfig()
RULES = GemminiCopyRules(CONFIG)
LINE, PIXEL, COLUMN = 0, 1, 2
CHANNELS = 64


def walk(
    lines: int,
    pixels: int,
    size: int = 3,
    stride: int = 2,
    width: int | None = None,
    line_stride: int | None = None,
    offset: Linear | None = None,
):
    """The walk of ``lines`` x ``pixels`` windows, stored in an image ``width`` pixels wide."""
    line_rows = (pixels - 1) * stride + size
    width = width or pixels
    if offset is None:
        offset = Linear.loop(LINE) * width * CHANNELS + Linear.loop(PIXEL) * CHANNELS
    row = Linear.loop(LINE) * (line_stride or stride) * line_rows + Linear.loop(PIXEL) * stride
    copy = Store(
        row,
        Linear.loop(COLUMN),
        CONFIG.memories.sums,
        "y",
        offset + Linear.loop(COLUMN),
        1,
        (),
        pooling=Pooling(size, line_rows),
    )
    loops = tuple(map(LoopExtent, (LINE, PIXEL, COLUMN), (lines, pixels, CONFIG.dim)))
    return pooled_walk(copy, plan_transfer(copy, loops, RULES))


def test_a_tile_of_an_image_is_one_store():
    found = walk(5, 7, width=20)
    assert [loop.loop_id for loop in found.loops] == [LINE, PIXEL]
    assert found.counts == {
        "pool_out_dim": 20,
        "pool_out_rows": 5,
        "pool_out_cols": 7,
        "out_rows": 11,
        "out_cols": 15,
    }
    assert (found.pool_stride, found.pixel_bytes) == (2, CHANNELS)


@pytest.mark.parametrize("width", [255, 256])
def test_images_wider_than_the_store_unit_counts_are_walked_line_by_line(width):
    found = walk(5, 7, width=width)
    walked = [LINE, PIXEL] if width == 255 else [PIXEL]
    assert [loop.loop_id for loop in found.loops] == walked


def test_lines_at_another_stride_are_stored_one_by_one():
    found = walk(3, 9, stride=2, line_stride=1)
    assert [loop.loop_id for loop in found.loops] == [PIXEL]
    assert (found.pool_out_rows, found.pool_out_cols, found.out_rows) == (1, 9, 3)


def test_windows_farther_apart_than_the_store_unit_steps_are_stored_one_by_one():
    assert walk(3, 3, stride=4).loops == ()


def test_pixels_that_do_not_advance_evenly_in_dram_are_no_walk():
    crooked = combine("floordiv", Linear.loop(PIXEL), Linear(2)) * CHANNELS
    found = walk(3, 6, offset=Linear.loop(LINE) * 100 * CHANNELS + crooked)
    assert PIXEL not in [loop.loop_id for loop in found.loops]


@pytest.mark.parametrize(("lines", "walked"), [(60, [LINE, PIXEL]), (61, [LINE])])
def test_windows_of_more_elements_than_a_command_counts_are_several(lines, walked):
    """60 x 60 windows of 9 have 32,400, 61 x 60 of them 32,940."""
    found = walk(lines, 60, size=3, stride=1)
    assert [loop.loop_id for loop in found.loops] == walked


def test_a_tile_wider_than_the_store_unit_counts_is_refused():
    with pytest.raises(DoesNotFit, match="out_cols is 257, the store unit counts to 255"):
        walk(2, 128, size=3, stride=2)


def test_windows_under_a_condition_are_refused():
    copy = Store(
        Linear.loop(LINE),
        Linear.loop(COLUMN),
        CONFIG.memories.sums,
        "y",
        Linear.loop(LINE) * CHANNELS + Linear.loop(COLUMN),
        1,
        (Linear.loop(LINE) - 1,),
        pooling=Pooling(2, 9),
    )
    loops = (LoopExtent(LINE, 4), LoopExtent(COLUMN, CONFIG.dim))
    with pytest.raises(CodegenError, match="whole tiles only"):
        pooled_walk(copy, plan_transfer(copy, loops, RULES))
