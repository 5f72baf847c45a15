"""What a schedule of a multiply-accumulate is but for its tile sizes, and which loops it tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from ..device import DeviceConfig

# Orders of the array's steps inside a tile, from the outside in.
STEP_ORDERS: dict[str, tuple[str, ...]] = {
    # A block of weights stays while the tile's pixels pass.
    "blocks_first": ("blocks", "kernel_h", "kernel_w", "windows", "depth", "lines", "steps"),
    # As above, and the same pixels meet all output blocks before the next kernel position.
    "kernel_first": ("kernel_h", "kernel_w", "windows", "depth", "blocks", "lines", "steps"),
}
KERNEL_LOOPS = ("kernel_h", "kernel_w")
_SUMMED = [["kernel_h"], ["kernel_w"], ["windows"], ["depth"]]
# A kernel of more positions than this is loaded in parts even where the weights of a single block
# of channels have room: beside them little else has.
_MOST_KERNEL_POSITIONS = 64


@dataclass(frozen=True)
class MacStructure:
    """Everything about a schedule but its tile sizes.

    tiles : the order of the loops over tiles; ``"weights_kept"`` walks the pixels inside the
        output blocks, ``"inputs_kept"`` the output blocks inside the pixels.
    kept : whether the operand that those inner loops do not change stays in the scratchpad.
    split_depth : whether the reduction's channels are loaded in several tiles, the sums staying
        in the accumulator.
    split_kernel : whether the kernel's positions are; for kernels that fill the scratchpad.
    step_order : a key of :data:`STEP_ORDERS`.
    pipelined : whether the next tile is loaded before this one is computed.
    two_sums : whether the accumulator holds two tiles: while one is computed the other is stored
        and started anew.  For a whole reduction only.
    wide : whether a step's blocks of output channels lie side by side in the accumulator, so that
        one command stores several: fewer and longer writes, but steps shorter than the array's
        side leave gaps, and are not cut anew.
    packed : whether the weights lie in DRAM in the order in which tiles load them, and in a tile in
        the order of the steps.  For weights that are constant.
    halved : whether the first tile's steps come to the halves of inputs that stay by turns, while
        the other half is loaded into banks of its own, and leave the next tile's loads to its own
        steps: for inputs whose loads keep the memory busy as long as those steps take.
    ends : whether the first tile's steps come in outer-product order (the reduction outside of all
        other loops), so that they begin with the first part of each operand and the second tile's
        weights may come late; and the last tile's in inner-product order (the reduction innermost),
        so that all of its sums but the last are stored beside them.
    in_order : whether a pipelined loop's commands come tile by tile all the same: the device's
        queues hold a small tile's, and so overlap it with the next, which has versions of its own.
        It needs no prologue and no epilogue.
    """

    tiles: str = "weights_kept"
    kept: bool = False
    split_depth: bool = False
    split_kernel: bool = False
    step_order: str = "blocks_first"
    pipelined: bool = True
    two_sums: bool = False
    wide: bool = False
    packed: bool = False
    halved: bool = False
    ends: bool = False
    in_order: bool = False

    @property
    def may_be_halved(self) -> bool:
        """Whether its inputs stay, and the first tile reduces over all of them from the outside in
        while nothing has to be stored before the next."""
        is_kept = self.kept and self.tiles == "inputs_kept"
        return is_kept and self.step_order == "kernel_first" and self.pipelined and self.two_sums

    @property
    def unmarked(self) -> MacStructure:
        """The structure without what only marks in a schedule tell of."""
        return replace(
            self,
            pipelined=False,
            two_sums=False,
            wide=False,
            packed=False,
            halved=False,
            ends=False,
            in_order=False,
        )

    def fitted(
        self, extents: Mapping[str, int], may_be_wide: bool, most_positions: int
    ) -> MacStructure:
        """The structure as loops of these extents take it, by what each walks: the kernel split
        where it has more than ``most_positions`` and nothing is to be kept, halved only where the
        outermost loop of steps that there is adds up, over an even number of parts, and with other
        orders at the ends only where there is anything to add up."""
        changes: dict[str, Any] = {}
        if self.wide and not may_be_wide:
            changes["wide"] = False
        if self.halved:
            order = [name for name in STEP_ORDERS[self.step_order] if extents.get(name, 1) > 1]
            changes["halved"] = order[:1] in _SUMMED and extents[order[0]] in range(4, 1 << 31, 2)
        if self.ends:
            changes["ends"] = any(extents.get(name, 1) > 1 for (name,) in _SUMMED)
        positions = prod(extents.get(name, 1) for name in KERNEL_LOOPS)
        if positions > most_positions and not self.kept:
            changes["split_kernel"] = True
        return replace(self, **changes)


def most_kernel_positions(config: DeviceConfig) -> int:
    """How many positions of a kernel are loaded at once: no more than two versions of a block of
    weights have room for."""
    return min(_MOST_KERNEL_POSITIONS, config.memories.weights.rows // (2 * config.dim))


def tiled_loops(loops: Sequence[str], structure: MacStructure) -> tuple[str, ...]:
    """Of a definition's loops, those that a structure cuts into tiles of sampled sizes, in the
    order of the samples.

    Raises
    ------
    ValueError
        if the structure splits a reduction that the definition does not have.
    """
    pixels = () if "joined" in loops else ("steps",)  # tiles take joined lines whole
    split = split_loops(loops, structure)
    missing = [name for name in split if name not in loops]
    if missing:
        raise ValueError(f"{structure} splits {', '.join(missing)}, the loops are {list(loops)}")
    return (*(name for name in ("blocks", "lines") if name in loops), *pixels, *split)


def split_loops(loops: Sequence[str], structure: MacStructure) -> tuple[str, ...]:
    """Of a definition's loops, those of the reduction that a structure cuts into tiles."""
    return (
        *(name for name in KERNEL_LOOPS if structure.split_kernel and name in loops),
        *(("depth",) if structure.split_depth else ()),
    )
