"""Files of limits: what they may say, and that anything else is refused by file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from my_npu.config import MyNpuConfig

from npu_target.device import ConfigError, Limits, presets

NUMBERS = {"lanes": 8, "rows": 32}


def limits(folder: Path, *lines: str) -> Limits:
    path = folder / "limits.def"
    path.write_text("\n".join(["// Of a test.", "", "#ifndef FIELD", "#endif", *lines, ""]))
    return Limits(path)


def test_what_a_file_may_say(tmp_path: Path) -> None:
    found = limits(
        tmp_path,
        "FIELD(lanes, 2, 64)",
        "  FIELD( rows,-1,4096 )  // (of a memory)",
        "\tPOWER_OF_TWO(lanes)",
        "MULTIPLE(rows, 2 * lanes + 0)",
        "AT_LEAST(rows * lanes, 16) // at least",
        'AT_MOST(rows, 128, "a (long) reason, with // and all")',
    )
    assert found.fields == {"lanes": (2, 64), "rows": (-1, 4096)}
    assert found.violation(NUMBERS) is None
    violations = {
        ("lanes", 1): "lanes is 1, must be between 2 and 64",
        ("lanes", 6): "lanes is 6, must be a power of two",
        ("rows", 24): "rows is 24, must be a multiple of 2 * lanes + 0 (16)",
        ("rows", 0): "rows * lanes is 0, must be at least 16",
        ("rows", 144): "rows is 144, must be at most 128, a (long) reason, with // and all",
    }
    for (name, value), message in violations.items():
        assert found.violation({**NUMBERS, name: value}) == message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("POWER_OF_2(lanes)", "'POWER_OF_2(lanes)' is no statement; needs one of FIELD, POWER_OF"),
        ("FIELD(rows, 1, 2", "'FIELD(rows, 1, 2' is no statement"),
        ("FIELD(rows, 1, 2);", "'FIELD(rows, 1, 2);' is no statement"),
        ("/* rows */", "is no statement; needs one of FIELD ... a comment behind //"),
        ("FIELD(rows, 1)", "'FIELD(rows, 1)' has 2 arguments, FIELD takes 3"),
        ("FIELD(rows, 1, )", "has 2 arguments, FIELD takes 3"),
        ("AT_MOST(lanes, 4)", "has 2 arguments, AT_MOST takes 3"),
        ("FIELD(rows, 0x100, 512)", "the least value is '0x100', must be a decimal number"),
        ("FIELD(rows, 1, 010)", "the most value is '010', must be a decimal number"),
        ("FIELD(lanes, 1, 2)", "lanes has its limits at ... limits.def:5"),
        (
            "POWER_OF_TWO(lane)",
            "'lane' in 'lane' is neither a number nor a field ... ; near: lanes",
        ),
        ("MULTIPLE(lanes, 2 * bits)", "'bits' in '2 * bits' is neither a number nor a field"),
        ('#include "other.def"', 'includes "other.def", may include "sim/host_limits.def"'),
    ],
)
def test_anything_else_is_refused_where_it_is(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        limits(tmp_path, "FIELD(lanes, 2, 64)", line)
    assert str(caught.value).startswith(f"{tmp_path / 'limits.def'}:6: ")
    for part in message.split(" ... "):
        assert part in str(caught.value)


def test_limits_of_a_field_that_there_is_not(tmp_path: Path) -> None:
    found = limits(tmp_path, "FIELD(lanes, 2, 64)", "FIELD(row, 1, 4096)")
    with pytest.raises(ConfigError, match=r"limits.def:6: a device has no field 'row'; near: rows"):
        found.violation(NUMBERS)


def test_every_device_has_the_hosts_limits() -> None:
    for config in [MyNpuConfig(), *presets().values()]:
        assert config.limits.fields["host_registers"] == (1, 64)
