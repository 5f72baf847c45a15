"""The ways to memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.device import preset
from npu_target.device.links import Link

BYTES = st.integers(0, 10**9)


@given(BYTES, BYTES)
def test_each_way_waits_for_itself_and_a_shared_one_for_both(read, written):
    counts = {"in": read, "out": written}
    apart, shared = Link("a", "in", "out", 8), Link("s", "in", "out", 8, is_shared=True)
    assert apart.bytes(counts) == max(read, written)
    assert shared.bytes(counts) == read + written
    assert apart.cycles(counts) == pytest.approx(max(read, written) / 8)


def test_devices_say_how_wide_theirs_are():
    gemmini = preset("gemmini-16x16")
    assert [link.bytes_per_cycle for link in gemmini.links] == [16, 8]
    assert gemmini.with_ideal_memory().links[-1].bytes_per_cycle == 8
    wide = gemmini.replace(name="wide", memory_bytes_per_kilocycle=12_000)
    assert wide.links[-1].bytes_per_cycle == 12
    vta = preset("vta-1x16x16")
    assert [(link.bytes_per_cycle, link.is_shared) for link in vta.links] == [
        (8, False),
        (32, True),
    ]
