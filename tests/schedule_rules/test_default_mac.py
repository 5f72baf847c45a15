"""The default structure and tiles of multiply-accumulates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from operator_strategies import devices, operators

from npu_target.config import NpuConfig
from npu_target.schedule_rules.default_mac import default_mac
from npu_target.topi import Conv2d, DepthwiseConv2d, Matmul
from npu_target.topi.mac_shape import TILED, MacShape

DEFAULT = NpuConfig.preset("gemmini-16x16")


@pytest.mark.parametrize("op", ["conv2d", "depthwise_conv2d", "matmul"])
@given(data=st.data())
def test_tiles_divide_the_extents_and_fit(op, data):
    config = data.draw(devices)
    shape = MacShape.of(data.draw(operators(config)[op]), config)
    structure, tile = default_mac(shape, config)
    assert all(shape.extent(name) % tile[name] == 0 for name in TILED)
    stays = {"inputs_kept": shape.a_rows(tile), "weights_kept": shape.b_rows(tile)}
    kept = stays[structure.tiles] if structure.kept else 0
    assert 2 * (shape.a_rows(tile) + shape.b_rows(tile)) - kept <= config.spad_rows
    sums = 2 if structure.two_sums else 1
    assert sums * shape.c_rows(tile, structure.wide) <= config.acc_rows
    if structure.kept:
        assert all(tile[name] == shape.extent(name) for name in ("depth", "kernel_h", "kernel_w"))
    assert structure.split_depth == (tile["depth"] < shape.depth)


@pytest.mark.parametrize(
    ("operator", "tiles", "kept", "sizes"),
    [
        # Few weights past which many pixels go, a few at a time.
        (Conv2d(1, 1, 3136, 64, 64, 1, 1), "weights_kept", True, {"blocks": 4, "steps": 2}),
        # More weights than inputs: they stream, as many columns as one request has.
        (Matmul(1, 128, 768, 3072), "inputs_kept", True, {"blocks": 4, "steps": 8}),
        (Conv2d(1, 1, 49, 160, 960, 1, 1), "inputs_kept", True, {"blocks": 4}),
        # A single row: all is loaded once, in small parts of the reduction.
        (Matmul(1, 1, 2048, 1000), "weights_kept", False, {"blocks": 63, "depth": 2}),
        # Channels that no request divides.
        (DepthwiseConv2d(1, 112, 112, 96, 3, 3, 16, (2, 2), (0, 0, 1, 1)), "weights_kept", True,
         {"blocks": 6}),
        # All pixels in one tile, of which one after another passes.
        (DepthwiseConv2d(1, 7, 7, 960, 3, 3, 16, (1, 1), (1, 1, 1, 1)), "inputs_kept", True,
         {"blocks": 4, "lines": 7}),
    ],
)  # fmt: skip
def test_known_layers(operator, tiles, kept, sizes):
    structure, tile = default_mac(MacShape.of(operator, DEFAULT), DEFAULT)
    assert (structure.tiles, structure.kept) == (tiles, kept)
    assert {name: tile[name] for name in sizes} == sizes
