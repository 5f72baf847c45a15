"""The devices of a sweep."""

from __future__ import annotations

import pytest

from npu_target.device import ConfigError, preset
from npu_target.sweep.area import area_mm2
from npu_target.sweep.devices import grid

BASE = preset("gemmini-16x16")


def test_every_combination_is_there_once() -> None:
    points = grid(BASE, [("dim", (8, 16)), ("acc_kib", (32, 64, 128))])
    assert [dict(point.numbers) for point in points] == [
        {"dim": dim, "acc_kib": kib} for dim in (8, 16) for kib in (32, 64, 128)
    ]
    names = {point.config.name for point in points if point.config is not None}
    assert len(names) == 6
    assert "gemmini-16x16_dim-8_acc_kib-32" in names


def test_what_is_no_device_has_a_reason() -> None:
    able, unable = grid(BASE, [("dim", (8, 12))])
    assert able.config is not None and not able.reason
    assert unable.config is None and "power of two" in unable.reason


def test_a_long_name_is_cut_and_still_its_own() -> None:
    fixed = [name for name in BASE.numbers() if name not in ("dim", "clock_khz")][:12]
    varied = [(name, (BASE.numbers()[name],)) for name in fixed]
    points = grid(BASE, [*varied, ("clock_khz", (1_000, 2_000))])
    found = [point.config.name for point in points if point.config is not None]
    assert len(set(found)) == 2
    assert max(map(len, found)) <= 100


@pytest.mark.parametrize(
    ("varied", "text"),
    [
        ([("dimm", (8,))], "near: dim"),
        ([("dim", (8,)), ("dim", (16,))], "varied twice"),
        ([("dim", (12, 20))], "none of the 2 combinations"),
    ],
)
def test_wrong_sweeps_are_refused(varied: list[tuple[str, tuple[int, ...]]], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        grid(BASE, varied)


def test_area_is_what_was_published() -> None:
    """Array and scratchpad as in the paper; its accumulator is 7 % denser there than here."""
    assert area_mm2(BASE, BASE) == pytest.approx(0.116 + 0.544 + 0.146, rel=0.02)


def test_area_grows_with_what_is_built_in() -> None:
    def area(**changes: int) -> float:
        return area_mm2(BASE.varied(changes), BASE)

    assert area(dim=32) - area() == pytest.approx(3 * 0.116)
    assert area(spad_kib=512) - area() == pytest.approx(0.544)
    assert area(l2_kib=1024) - area() == pytest.approx(2 * 0.544)
    assert area(bus_bytes=32) == area()
