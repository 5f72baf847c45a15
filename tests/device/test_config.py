"""What every config says of its memories: that they hold blocks of its side."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from my_npu.config import MyNpuConfig
from my_npu.kind import KIND

from npu_target.device import ConfigError, Memories, kinds


@dataclass(frozen=True)
class OtherMemories(MyNpuConfig):
    """With inputs beside weights, of other sizes."""

    columns: int = 16
    rows: int = 4096
    bank_rows: int = 4096

    def __post_init__(self) -> None:
        """No limits."""

    @property
    def memories(self) -> Memories:
        vectors, sums = super().memories.inputs, super().memories.sums
        sizes = {"columns": self.columns, "rows": self.rows, "bank_rows": self.bank_rows}
        matrices = replace(vectors, scope="global.matrices", title="matrices", **sizes)
        return Memories(vectors, matrices, sums)


def test_installed_devices_have_square_blocks() -> None:
    for config in (*KIND.presets, *(p for kind in kinds().values() for p in kind.presets)):
        config.check_memories()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"columns": 8},
            r"'matrices' \(global.matrices\) has 8 columns, dim is 16: blocks are squ",
        ),
        ({"rows": 8, "bank_rows": 8}, "'matrices' .* has 8 rows, 8 of them in a bank; a bank has"),
        ({"bank_rows": 4}, "'matrices' .* has 4096 rows, 4 of them in a bank; .* of 16 rows"),
    ],
)
def test_memories_that_hold_no_blocks(changes: dict[str, int], message: str) -> None:
    OtherMemories().check_memories()
    config = OtherMemories(name="narrow", **changes)
    with pytest.raises(ConfigError, match=f"device 'narrow': the memory {message}"):
        config.check_memories()
    with pytest.raises(ConfigError, match="device 'narrow': the memory"):
        replace(KIND, presets=(MyNpuConfig(), config)).check()
