"""Operators in sizes that a device's copies take."""

from __future__ import annotations

import pytest

from npu_target.device import preset
from npu_target.topi import Add, Conv2d, GlobalAvgPool, Matmul, OperatorError
from npu_target.topi.fitting import fitted

VTA = preset("vta-1x16x16")


def test_what_a_device_takes_stays() -> None:
    for operator in (Matmul(1, 5, 7, 9), Add(3, 5, 16), GlobalAvgPool(1, 7, 7, 20, 16)):
        assert fitted(operator, preset("gemmini-16x16")) is operator
    operator = Conv2d(1, 5, 5, 32, 16, 3, 3)
    assert fitted(operator, VTA) == operator


def test_channels_are_padded() -> None:
    assert fitted(Matmul(2, 5, 7, 33, bias=False), VTA) == Matmul(2, 5, 16, 48, bias=False)
    assert fitted(Conv2d(1, 5, 5, 3, 20, 3, 3), VTA) == Conv2d(1, 5, 5, 16, 32, 3, 3)
    assert fitted(Add(3, 5, 16), VTA).args[0].shape == (16,)
    assert fitted(GlobalAvgPool(1, 7, 7, 20, 16), VTA) == GlobalAvgPool(1, 7, 7, 32, 16)


class Unpadded(Matmul):
    """An operator that says of no size how it is padded."""

    def padded(self, multiple: int) -> Matmul:
        return self


def test_what_cannot_be_padded_is_refused() -> None:
    with pytest.raises(OperatorError, match=r"lines of 7 elements of \w+, .* multiples of 16"):
        fitted(Unpadded(1, 5, 7, 16), VTA)
