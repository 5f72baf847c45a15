"""The Pareto front against its definition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npu_target.sweep.pareto import pareto_front
from npu_target.sweep.results import DeviceResult, LayerCycles

NUMBER = st.integers(1, 12)


def device(area: int, cycles: int | None) -> DeviceResult:
    layers = () if cycles is None else (LayerCycles("layer", 1, 100, 2 * cycles, cycles),)
    name, reason = f"{area}_{cycles}", "" if layers else "no"
    return DeviceResult(name, {}, area, 1_000, 256, layers=layers, reason=reason)


@given(st.lists(st.tuples(NUMBER, NUMBER | st.none())))
def test_nobody_beats_the_front(pairs: list[tuple[int, int | None]]) -> None:
    front = pareto_front([device(*pair) for pair in pairs])
    able = [(area, cycles) for area, cycles in pairs if cycles is not None]
    expected = {
        (area, cycles)
        for area, cycles in able
        if not any(a <= area and c <= cycles and (a, c) != (area, cycles) for a, c in able)
    }
    assert [(each.area_mm2, each.cycles) for each in front] == sorted(expected)
