"""Which convolutions join their lines; that they compute right is in tests of all schedules."""

from __future__ import annotations

import pytest

from npu_target.device import preset
from npu_target.topi import Conv2d
from npu_target.topi.blocking import even_steps
from npu_target.topi.conv2d.joined import image_rows, takes_joined

DEVICE = preset("gemmini-16x16")


def conv(size: int, kernel: int, stride: int = 1, ci: int = 32) -> Conv2d:
    pad = (kernel // 2,) * 4
    return Conv2d(1, size, size, ci, 32, kernel, kernel, (stride, stride), pad)


@pytest.mark.parametrize(
    ("operator", "joined"),
    [
        (conv(7, 3), True),  # 49 rows instead of 64
        (conv(14, 3, 2), True),
        (conv(14, 1, 2), True),
        (conv(14, 3), False),  # 196 rows instead of 198
        (conv(56, 3), False),
        (conv(3, 3), True),
        (conv(1, 1), False),
    ],
)
def test_short_lines_are_joined(operator, joined):
    assert takes_joined(operator, DEVICE) is joined


def test_lines_as_long_as_a_step_stay_apart():
    assert not takes_joined(conv(8, 3), preset("gemmini-8x8"))


def test_copies_of_the_image_leave_room_for_weights():
    for size in range(1, 16):
        for kernel in range(1, 8):
            for stride in (1, 2, 3):
                operator = conv(size, kernel, stride)
                if takes_joined(operator, DEVICE):
                    assert 4 * image_rows(operator) <= DEVICE.spad_rows


@pytest.mark.parametrize(
    ("extent", "steps"),
    [(49, (7, 7)), (16, (1, 16)), (13, (1, 13)), (53, (53, 1)), (196, (14, 14))],
)
def test_even_steps(extent, steps):
    assert even_steps(extent, 16) == steps
