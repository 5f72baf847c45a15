"""The device's commands: meaning, limits and bits side by side.

VTA's instruction of 128 bits is a command of two words, told from others by its lowest three bits.
`command.encode()` gives the words as the hardware takes them, `COMMANDS.decode` the command back,
`command.validate(config)` tells whether a device can do it, `str(command)` is its disassembly.

Load, compute and store engine each have a queue of commands. Between neighbours run tokens, one of
which a command may take from each before it begins and give to each when it ends: `pop_prev` and
`push_prev` for the engine before its own, `pop_next` and `push_next` for the one behind. Nothing
else orders commands of two engines.

Sizes are in rows of the buffers, in DRAM, too: its address is the row's number times its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...device.command_set import CommandSet
from ...device.commands import DeviceCommand, IsaError, field, flag, uint
from .config import VtaConfig

MEMORIES = ("uop", "wgt", "inp", "acc", "out", "acc_int8")
ALU_OPS = ("min", "max", "add", "shr", "mul")
UOP, WGT, INP, ACC, OUT, ACC_INT8 = range(6)
MIN, MAX, ADD, SHR, MUL = range(5)

OPCODE_MASK = 0b111
MAX_SHIFT = 31


def micro_op(dst: int, src: int = 0, wgt: int = 0) -> int:
    """The word of 4 B that names the rows of a step: of the accumulator, of the inputs and weights.

    For an ALU command `src` is of the accumulator and `wgt` is 0. Raises IsaError for a row that
    the word cannot name.
    """
    for name, row, bits in (("dst", dst, 11), ("src", src, 11), ("wgt", wgt, 10)):
        if not 0 <= row < 2**bits:
            raise IsaError(f"micro-op: {name} is {row}, needs 0 to {2**bits - 1}")
    return dst | src << 11 | wgt << 22


@dataclass(frozen=True, kw_only=True)
class VtaCommand(DeviceCommand, mnemonic="vta"):
    """What all commands have."""

    pop_prev: bool = flag(1, 3)
    pop_next: bool = flag(1, 4)
    push_prev: bool = flag(1, 5)
    push_next: bool = flag(1, 6)

    def need(self, holds: bool, what: str) -> None:
        """Raise IsaError unless it holds."""
        if not holds:
            raise IsaError(f"{self.mnemonic}: needs {what}, has {self}")


@dataclass(frozen=True, kw_only=True)
class Transfer(VtaCommand, mnemonic="transfer"):
    """Moves `y_size` lines of `x_size` rows; in DRAM they are `x_stride` rows apart.

    Without rows (`x_size` 0) it only passes tokens on.
    """

    memory: int = uint(1, 7, 3, names=MEMORIES)
    sram_base: int = uint(1, 10, 16, default=0)
    dram_base: int = uint(1, 26, 32, default=0, in_hex=True)
    y_size: int = uint(2, 0, 16, default=0)
    x_size: int = uint(2, 16, 16, default=0)
    x_stride: int = uint(2, 32, 16, default=0)
    # Lines and rows of zeros around them in the buffer.
    y_pad_before: int = uint(2, 48, 4, default=0)
    y_pad_after: int = uint(2, 52, 4, default=0)
    x_pad_before: int = uint(2, 56, 4, default=0)
    x_pad_after: int = uint(2, 60, 4, default=0)

    @property
    def sram_rows(self) -> int:
        """Rows of the buffer, padding included."""
        lines = self.y_pad_before + self.y_size + self.y_pad_after
        return lines * (self.x_pad_before + self.x_size + self.x_pad_after)

    def check_rows(self, config: VtaConfig) -> None:
        """Raise IsaError for rows that the buffer does not have."""
        if self.x_size == 0:
            return
        self.need(self.y_size > 0, "a y_size of at least 1")
        may_pad = isinstance(self, Load) and self.memory not in (UOP, WGT)
        padding = self.sram_rows - self.y_size * self.x_size
        self.need(may_pad or padding == 0, "no padding for this memory")
        acc = config.acc_rows
        rows = (config.uop_rows, config.wgt_rows, config.inp_rows, acc, acc, acc)[self.memory]
        end = self.sram_base + self.sram_rows
        self.need(end <= rows, f"rows up to {rows} on {config.name}")


@dataclass(frozen=True, kw_only=True)
class Load(Transfer, mnemonic="load", funct=0, tag=0, tag_mask=OPCODE_MASK):
    """DRAM to a buffer: inputs and weights by the load engine, others by the compute engine."""

    @property
    def is_of_load_engine(self) -> bool:
        return self.memory in (INP, WGT)

    def check_relations(self, config: VtaConfig) -> None:
        self.need(self.memory in (UOP, WGT, INP, ACC, ACC_INT8), "a memory to load")
        if self.memory == ACC_INT8:
            self.needs_feature(config, "has_acc_int8_load", "loading bytes into the accumulator")
        if self.is_of_load_engine:
            none_before = not (self.pop_prev or self.push_prev)
            self.need(none_before, "no tokens of an engine before load")
        self.check_rows(config)


@dataclass(frozen=True, kw_only=True)
class Store(Transfer, mnemonic="store", funct=0, tag=1, tag_mask=OPCODE_MASK):
    """Results to DRAM."""

    def check_relations(self, config: VtaConfig) -> None:
        self.need(self.memory == OUT, "the memory out")
        none_behind = not (self.pop_next or self.push_next)
        self.need(none_behind, "no tokens of an engine behind store")
        self.check_rows(config)


@dataclass(frozen=True, kw_only=True)
class Steps(VtaCommand, mnemonic="steps"):
    """Takes the micro-ops from `uop_begin` to before `uop_end`, in two loops.

    A loop's counter times its factors is added to the rows that a micro-op names.
    """

    uop_begin: int = uint(1, 8, 13)
    uop_end: int = uint(1, 21, 14, at_most=lambda config: config.uop_rows)
    iter_out: int = uint(1, 35, 14, default=1, at_least=1)
    iter_in: int = uint(1, 49, 14, default=1, at_least=1)
    dst_factor_out: int = uint(2, 0, 11, default=0)
    dst_factor_in: int = uint(2, 11, 11, default=0)
    src_factor_out: int = uint(2, 22, 11, default=0)
    src_factor_in: int = uint(2, 33, 11, default=0)

    def check_relations(self, config: VtaConfig) -> None:
        self.need(self.uop_end > self.uop_begin, "a uop_end beyond uop_begin")


@dataclass(frozen=True, kw_only=True)
class Gemm(Steps, mnemonic="gemm", funct=0, tag=2, tag_mask=OPCODE_MASK):
    """Each step: sums[dst] += inputs[src] x transposed weights[wgt]; with `reset` sums[dst] = 0."""

    reset: bool = flag(1, 7)
    wgt_factor_out: int = uint(2, 44, 10, default=0)
    wgt_factor_in: int = uint(2, 54, 10, default=0)


@dataclass(frozen=True, kw_only=True)
class Alu(Steps, mnemonic="alu", funct=0, tag=4, tag_mask=OPCODE_MASK):
    """Each step: sums[dst] = op(sums[dst], sums[src] or an immediate).

    A shift of a negative immediate is to the left; those in registers are 0 to 31.
    """

    op: int = uint(2, 44, 3, names=ALU_OPS)
    use_immediate: bool = flag(2, 47)
    immediate: int = field("sint", 2, 48, 16, default=0)

    def check_relations(self, config: VtaConfig) -> None:
        super().check_relations(config)
        self.need(self.op <= MUL, "an operation of the ALU")
        if self.op == MUL:
            self.needs_feature(config, "has_alu_multiply", "multiplying")
        self.need(self.use_immediate or self.immediate == 0, "no immediate beside registers")
        if self.op == SHR:
            self.need(abs(self.immediate) <= MAX_SHIFT, f"a shift of at most {MAX_SHIFT}")


@dataclass(frozen=True, kw_only=True)
class Finish(VtaCommand, mnemonic="finish", funct=0, tag=3, tag_mask=OPCODE_MASK):
    """Ends a launch, for which the host waits. To come after everything, by tokens."""


COMMANDS = CommandSet((Load, Store, Gemm, Alu, Finish), computing=(Gemm, Alu))
