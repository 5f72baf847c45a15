"""The memories of a device: which of them may be the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npu_target.device import ConfigError, Memories, Memory

VECTORS = Memory("global.vectors", "vectors", 64, 64, 8, "int8")
SUMS = Memory("global.sums", "sums", 16, 16, 8, "int32")


def test_one_memory_may_hold_several_operands() -> None:
    both = Memories(VECTORS, VECTORS, SUMS)
    assert both.all == (VECTORS, SUMS)
    assert both.find("global.sums") is SUMS
    assert both.have_room(inputs=30, weights=34, sums=16)
    assert not both.have_room(inputs=31, weights=34, sums=0)


@pytest.mark.parametrize("place", ["weights", "sums"])
def test_two_memories_of_one_scope(place: str) -> None:
    other = replace(SUMS, title="other", scope=VECTORS.scope)
    memories = {"inputs": VECTORS, "weights": VECTORS, "sums": SUMS, place: other}
    with pytest.raises(ConfigError) as caught:
        Memories(**memories)
    assert "'vectors' and 'other' are two memories of one scope, 'global.vectors'" in str(
        caught.value
    )
    assert "cut it into fixed parts" in str(caught.value)
