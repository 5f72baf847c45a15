"""The limits of a device: GemminiConfig and the reader of program files have the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_target.device import ConfigError
from npu_target.device_api import check_config
from npu_target.devices.gemmini import GemminiConfig

NUMBERS = GemminiConfig().numbers()
FIELDS = GemminiConfig.limits.fields
# Where limits are likely to be, and anything.
VALUES = st.one_of(
    st.integers(0, 31).map(lambda exponent: 2**exponent),
    st.builds(lambda exponent, more: 2**exponent + more, st.integers(0, 31), st.integers(-2, 2)),
    st.integers(-5, 300),
    st.integers(-(2**40), 2**40),
)


def said_by_python(numbers: dict[str, int]) -> str | None:
    """What is wrong with a device, None if nothing."""
    fields = {
        name: bool(value) if name.startswith("has_") and value in (0, 1) else value
        for name, value in numbers.items()
    }
    try:
        GemminiConfig.from_dict({"name": "drawn", **fields})
    except ConfigError as error:
        return str(error).removeprefix("device 'drawn': ")
    return None


def said_by_the_library(numbers: dict[str, int]) -> str | None:
    try:
        check_config("gemmini", numbers)
    except RuntimeError as error:
        text = str(error).splitlines()[-1]
        assert "NpuDeviceError [bad_program] " in text
        return text.partition("device config: ")[2]
    return None


def check_both(numbers: dict[str, int]) -> None:
    """Both refuse a device for the same reason, or take it; Python has types besides."""
    python, library = said_by_python(numbers), said_by_the_library(numbers)
    if python is None or "of type bool" not in python:
        assert python == library
    else:
        assert library is not None


@pytest.mark.long
@given(st.dictionaries(st.sampled_from(sorted(NUMBERS)), VALUES, max_size=4))
@settings(max_examples=3000)
def test_both_say_the_same(changes: dict[str, int]) -> None:
    check_both({**NUMBERS, **changes})


@pytest.mark.parametrize("field", sorted(NUMBERS))
def test_both_have_the_same_limits_of_a_field(field: str) -> None:
    values = {2**e + more for e in range(32) for more in (-1, 0, 1)} | {0, -1, 2**40, 2**62}
    for value in sorted(values):
        check_both({**NUMBERS, field: value})


def test_every_field_has_limits() -> None:
    assert sorted(FIELDS) == sorted(NUMBERS)


@pytest.mark.parametrize(
    "changes",
    [
        {"l2_bytes": 64},
        {"bus_bytes": 128},
        {"ld_queue_entries": 2**30},
        {"loads_in_flight": 2**30},
        {"host_queue_commands": 2**30},
        {"has_pooling": 2},
    ],
)
def test_devices_that_would_hang_or_fill_the_memory(changes: dict[str, int]) -> None:
    assert said_by_the_library({**NUMBERS, **changes})
