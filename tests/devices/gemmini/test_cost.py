"""What costs on a Gemmini are not below."""

from __future__ import annotations

import pytest

from npu_target import topi
from npu_target.device import kind_of, preset
from npu_target.topi import Add, Matmul

CONFIG = preset("gemmini-16x16")
COST = kind_of(CONFIG).cost


@pytest.mark.parametrize(
    ("operator", "cycles"),
    [
        (Matmul(1, 64, 64, 64, bias=False), 64**3 // 16**2),  # the array
        (Matmul(1, 1, 512, 1000, bias=False), (512 + 512 * 1000 + 1000) // 16),  # the bus
        (Add(16, 16, 16), (3 * 256 + 2 * 256) // 16),
    ],
)
def test_the_bound_is_the_array_or_the_bus(operator, cycles):
    assert COST.least_cycles(operator, CONFIG) == cycles


def test_what_has_no_tiles_is_refused():
    with pytest.raises(TypeError, match="softmax: Softmax has no tiles"):
        COST.tiles(Softmax(), CONFIG)


class Softmax:
    """No operator of ours."""

    name = "softmax"


def test_images_that_the_store_cannot_count_are_too_large():
    pool = topi.MaxPool2d(1, 1, 512, 16, 1, 2)
    sizes = {"n": 1, "cb": 1, "y": 1}
    tiles = COST.tiles(pool, CONFIG)
    assert tiles.cycles(True, {**sizes, "xx": 128}) < float("inf")
    assert tiles.cycles(True, {**sizes, "xx": 256}) == float("inf")
