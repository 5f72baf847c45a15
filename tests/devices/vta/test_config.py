"""Descriptions of VTAs: presets, sizes that follow, limits that Python and C++ share."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_target.device import ConfigError
from npu_target.device_api import check_config
from npu_target.devices.vta import PRESETS, VtaConfig

NUMBERS = VtaConfig().numbers()
# Where limits are likely to be, and anything.
VALUES = st.one_of(
    st.integers(0, 31).map(lambda exponent: 2**exponent),
    st.integers(-2, 40),
    st.integers(-(2**40), 2**40),
)


def test_the_default_is_the_public_one() -> None:
    config = VtaConfig()
    assert config.name == "vta-1x16x16"
    assert (config.batch, config.block_in, config.block_out) == (1, 16, 16)
    assert (config.uop_rows, config.inp_rows, config.wgt_rows, config.acc_rows) == (
        8192,
        2048,
        1024,
        2048,
    )
    assert config.limits.fields.keys() == config.numbers().keys()


@pytest.mark.parametrize("config", PRESETS, ids=lambda config: config.name)
def test_presets(config: VtaConfig) -> None:
    assert config.name == f"vta-{config.batch}x{config.block_in}x{config.block_out}"
    assert VtaConfig.from_numbers(config.name, config.numbers()) == config
    memories = config.memories
    # Of weights, a row of the buffer is as many as a block has lanes.
    rows = [config.inp_rows, config.wgt_rows * config.block_in, config.acc_rows]
    assert [m.rows for m in memories.all] == rows
    assert [m.columns * m.rows for m in memories.all] == [2**15, 2**18, 2**17 // 4]
    check_config("vta", config.with_ideal_memory().numbers())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"log_acc_buffer_bytes": 18}, "at most 13 .* what a micro-op can name"),
        ({"log_inp_buffer_bytes": 16}, "at most 11 .* what a micro-op can name"),
        ({"log_block_in": 5}, None),
        ({"log_inp_buffer_bytes": 4}, "at least"),
        ({"token_limit": 256}, "between 1 and 255"),
        ({"has_alu_multiply": 1}, "must be of type bool"),
    ],
)
def test_limits(changes: dict[str, int], message: str | None) -> None:
    if message is None:
        VtaConfig().replace(**changes)
        return
    with pytest.raises(ConfigError, match=message):
        VtaConfig().replace(**changes)


def said_by_python(numbers: dict[str, int]) -> str | None:
    try:
        VtaConfig.from_numbers("drawn", numbers)
    except ConfigError as error:
        return str(error).removeprefix("device 'drawn': ")
    return None


def said_by_the_library(numbers: dict[str, int]) -> str | None:
    try:
        check_config("vta", numbers)
    except RuntimeError as error:
        text = str(error).splitlines()[-1]
        assert "NpuDeviceError [bad_program] " in text
        return text.partition("device config: ")[2]
    return None


@given(st.dictionaries(st.sampled_from(sorted(NUMBERS)), VALUES, max_size=4))
@settings(max_examples=600)
def test_python_and_the_library_say_the_same(changes: dict[str, int]) -> None:
    numbers = {**NUMBERS, **changes}
    python, library = said_by_python(numbers), said_by_the_library(numbers)
    if python is None or "of type bool" not in python:
        assert python == library
    else:
        assert library is not None
