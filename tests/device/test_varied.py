"""Devices with other numbers, as somebody asks for them who designs one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.device import ConfigError, preset, presets

GEMMINI = preset("gemmini-16x16")
POWERS = st.sampled_from([2, 4, 8, 16, 32, 64])
KIBS = st.sampled_from([64, 128, 256, 512])


@pytest.mark.parametrize("config", presets().values(), ids=presets())
def test_every_field_may_be_varied(config) -> None:
    for name, value in config.numbers().items():
        assert config.varied({name: int(value)}) == config


@given(dim=POWERS)
def test_memories_hold_the_same_whatever_the_array(dim: int) -> None:
    device = GEMMINI.varied({"dim": dim})
    assert device.dim == dim
    assert device.memory_bytes == GEMMINI.memory_bytes
    # The sum of so many products of -128 and -128 is no negative number.
    assert dim * 128 * 128 < 2 ** (device.array_output_bits - 1)


@given(dim=POWERS, spad=KIBS, acc=KIBS, l2=KIBS)
def test_sizes_are_what_was_asked_for(dim: int, spad: int, acc: int, l2: int) -> None:
    device = GEMMINI.varied({"acc_kib": acc, "dim": dim, "l2_kib": l2, "spad_kib": spad})
    expected = {"scratchpad": spad * 1024, "accumulator": acc * 1024}
    assert (device.dim, device.memory_bytes, device.cache_bytes) == (dim, expected, l2 * 1024)


def test_flags_are_numbers() -> None:
    assert GEMMINI.varied({"has_pooling": 0}) == GEMMINI.replace(has_pooling=False)


def test_a_stated_number_stands() -> None:
    device = GEMMINI.varied({"dim": 32, "spad_bank_rows": 4096, "array_output_bits": 32})
    assert (device.spad_bank_rows, device.array_output_bits) == (4096, 32)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"dims": 3}, "no number 'dims'; near: dim; sizes: spad_kib"),
        ({"spad_kib": 256, "spad_bank_rows": 4096}, "two numbers for one size"),
        ({"l2_kib": 256, "l2_bytes": 4096}, "two numbers for one size"),
        ({"dim": 0}, "dim is 0, must be between 2 and"),
        ({"dim": 12}, "dim is 12, must be a power of two"),
        ({"spad_kib": 100}, "must be a power of two"),
        ({"has_pooling": 2}, "has_pooling is 2"),
    ],
)
def test_what_is_no_device_is_refused(changes: dict[str, int], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        GEMMINI.varied(changes)
