"""The device's commands: meaning, limits and bits side by side.

`command.encode()` gives the words (funct, rs1, rs2) as the hardware takes them, `COMMANDS.decode`
gives the command back, `command.validate(config)` tells whether a device can do it, `str(command)`
is its disassembly. The commands of the hardware's own loops are in `isa_loops.py`.

Sizes are in elements unless a name says otherwise; strides in DRAM are in bytes, strides in the
scratchpad and the accumulator in rows.
"""

# ruff: noqa: RUF009 (the calls that give a field's bits make dataclass fields)
from __future__ import annotations

from dataclasses import dataclass

from ...device.command_set import CommandSet
from ...device.commands import (
    DeviceCommand,
    IsaError,
    address,
    field,
    flag,
    parted,
    scale,
    uint,
)
from .config import GemminiConfig
from .isa_loops import (
    LOOP_COMMANDS,
    LoopConvWs,
    LoopConvWsAddressesBI,
    LoopConvWsAddressesWO,
    LoopConvWsBounds,
    LoopConvWsDims,
    LoopConvWsKernel,
    LoopConvWsPool,
    LoopWs,
    LoopWsAddressesAB,
    LoopWsAddressesDC,
    LoopWsBounds,
    LoopWsStridesAB,
    LoopWsStridesDC,
)
from .local_address import GARBAGE, OR_GARBAGE, SCRATCHPAD_ONLY, LocalAddress

__all__ = [
    "COMMANDS",
    "ACTIVATIONS",
    "COMPUTES",
    "DATAFLOWS",
    "GARBAGE",
    "LOADS",
    "ComputeAccumulated",
    "ComputePreloaded",
    "ConfigEx",
    "ConfigLd",
    "ConfigNorm",
    "ConfigSt",
    "Counter",
    "Flush",
    "LocalAddress",
    "LoopConvWs",
    "LoopConvWsAddressesBI",
    "LoopConvWsAddressesWO",
    "LoopConvWsBounds",
    "LoopConvWsDims",
    "LoopConvWsKernel",
    "LoopConvWsPool",
    "LoopWs",
    "LoopWsAddressesAB",
    "LoopWsAddressesDC",
    "LoopWsBounds",
    "LoopWsStridesAB",
    "LoopWsStridesDC",
    "Mvin",
    "Mvin2",
    "Mvin3",
    "Mvout",
    "Preload",
    "mvin_class",
]

DATAFLOWS = ("output_stationary", "weight_stationary")
ACTIVATIONS = ("none", "relu", "layernorm", "igelu")
_LOAD_IDS = 3
_KIND = 0b11  # of the first word: which of the four configurations
_ACC_BITS = 32


def _max_dim(config: GemminiConfig) -> int:
    return config.dim


def _max_local_stride(config: GemminiConfig) -> int:
    """Row strides are kept in as many bits as a row number takes, at most 16."""
    row_bits = (max(config.spad_rows, config.acc_rows) - 1).bit_length()
    return (1 << min(16, row_bits)) - 1


def _max_mvin_cols(config: GemminiConfig) -> int:
    return max(config.mvin_max_cols, config.mvin_max_cols_acc)


def _max_mvout_cols(config: GemminiConfig) -> int:
    return max(config.mvout_max_cols, config.mvout_max_cols_acc)


@dataclass(frozen=True)
class ConfigEx(DeviceCommand, mnemonic="config_ex", funct=0, tag=0, tag_mask=_KIND):
    """Set the dataflow, transpositions and strides of PRELOAD and COMPUTE.

    `a_stride` and `c_stride` are rows between successive rows of A and C. `shift` divides what
    an output-stationary array writes to the scratchpad, `activation` applies to it too. With
    `strides_only` the rest is ignored. `scale` is unused by the hardware.
    """

    weight_stationary: bool = flag(1, 2, default=True, names=DATAFLOWS)
    activation: int = uint(1, 3, 2, default=0, names=ACTIVATIONS)
    strides_only: bool = flag(1, 7)
    transpose_a: bool = flag(1, 8)
    transpose_b: bool = flag(1, 9)
    a_stride: int = uint(1, 16, 16, default=1, at_most=_max_local_stride)
    scale: float = scale(1, 32)
    shift: int = uint(2, 0, 32, default=0, at_most=lambda config: _ACC_BITS - 1)
    relu6_shift: int = uint(2, 32, 16, default=0)
    c_stride: int = uint(2, 48, 16, default=1, at_most=_max_local_stride)

    def check_relations(self, config: GemminiConfig) -> None:
        if self.strides_only:
            return
        if self.weight_stationary:
            self.needs_feature(config, "has_weight_stationary", "the weight-stationary dataflow")
        else:
            self.needs_feature(config, "has_output_stationary", "the output-stationary dataflow")
        if self.transpose_a or self.transpose_b:
            self.needs_feature(config, "has_transpose", "a transposed operand")
        if self.transpose_a and self.transpose_b:
            raise IsaError("config_ex: transpose_a and transpose_b are both set, needs at most one")


@dataclass(frozen=True)
class ConfigLd(DeviceCommand, mnemonic="config_ld", funct=0, tag=1, tag_mask=_KIND):
    """Set how MVIN (`id` 0), MVIN2 (1) or MVIN3 (2) loads.

    `stride_bytes` lies between rows in DRAM; 0 repeats one row. Columns past the array's side go
    `block_stride` rows further on. `shrunk`: DRAM holds int8 for the accumulator. `scale`
    multiplies int8 elements. `pixel_repeats` p > 1 writes each row p times, shifted.
    """

    stride_bytes: int = uint(2, 0, 64)
    block_stride: int = uint(1, 16, 16, at_most=_max_local_stride)
    scale: float = scale(1, 32)
    shrunk: bool = flag(1, 2)
    id: int = uint(1, 3, 2, default=0, at_most=lambda config: _LOAD_IDS - 1)
    pixel_repeats: int = uint(1, 8, 8, default=1, at_most=_max_dim)

    def check_relations(self, config: GemminiConfig) -> None:
        if self.pixel_repeats > 1:
            self.needs_feature(config, "has_first_layer_pixel_repeats", "pixel_repeats > 1")
        if self.scale != 1.0:
            self.needs_feature(config, "has_mvin_scale", f"scale {self.scale:.9g}")


@dataclass(frozen=True)
class ConfigSt(DeviceCommand, mnemonic="config_st", funct=0, tag=2, tag_mask=_KIND):
    """Set how MVOUT stores, with maximum pooling when `pool_stride` is not 0.

    `activation` then `scale` apply to what leaves the accumulator as int8. The pooling window is
    `pool_size` square; `out_rows` x `out_cols` is the image in the accumulator, `pool_out_rows` x
    `pool_out_cols` the pooled part stored, `pool_out_dim` the width of the whole pooled image.
    Elements off the image (`upper_pad`, `left_pad`) count as 0.
    """

    stride_bytes: int = uint(2, 0, 32)
    scale: float = scale(2, 32)
    activation: int = uint(1, 2, 2, default=0, names=ACTIVATIONS)
    pool_stride: int = uint(1, 4, 2, default=0)
    pool_size: int = uint(1, 6, 2, default=0)
    upper_pad: int = uint(1, 8, 2, default=0)
    left_pad: int = uint(1, 10, 2, default=0)
    pool_out_dim: int = uint(1, 24, 8, default=0)
    pool_out_rows: int = uint(1, 32, 8, default=0)
    pool_out_cols: int = uint(1, 40, 8, default=0)
    out_rows: int = uint(1, 48, 8, default=0)
    out_cols: int = uint(1, 56, 8, default=0)

    def check_relations(self, config: GemminiConfig) -> None:
        if not self.pool_stride:
            return
        self.needs_feature(config, "has_pooling", "pool_stride > 0")
        for name in ("pool_size", "pool_out_dim", "pool_out_rows", "pool_out_cols"):
            if getattr(self, name) == 0:
                raise IsaError(f"config_st: {name} is 0, needs at least 1 when pooling")


@dataclass(frozen=True)
class ConfigNorm(DeviceCommand, mnemonic="config_norm", funct=0, tag=3, tag_mask=_KIND):
    """Set the constants of the integer normalizations and of GELU, where the device has them."""

    stats_id: int = uint(1, 8, 8, default=0)
    activation_msb: bool = flag(1, 16)
    stats_id_only: bool = flag(1, 17)
    q_const_type: int = uint(1, 18, 1, default=0)
    q_const: int = field("sint", 1, 32, 32, default=0)
    igelu_qb: int = field("sint", 2, 0, 32, default=0)
    igelu_qc: int = field("sint", 2, 32, 32, default=0)


@dataclass(frozen=True)
class _Load(DeviceCommand, mnemonic="load"):
    """Copy `rows` rows of `cols` columns from DRAM, as the CONFIG_LD of its id says.

    Address 0 writes zeros without reading. Into the accumulator DRAM holds int32, or int8 when
    shrunk.
    """

    dram_address: int = address(1)
    local: LocalAddress = parted(2, 0, LocalAddress)
    cols: int = uint(2, 32, 16, at_least=1, at_most=_max_mvin_cols)
    rows: int = uint(2, 48, 16, at_least=1, at_most=_max_dim)


_LOAD_TEXT = "{dram_address} -> {local}, {cols} cols, {rows} rows"


@dataclass(frozen=True)
class Mvin(_Load, mnemonic="mvin", funct=2, template=_LOAD_TEXT):
    __doc__ = _Load.__doc__


@dataclass(frozen=True)
class Mvin2(_Load, mnemonic="mvin2", funct=1, template=_LOAD_TEXT):
    __doc__ = _Load.__doc__


@dataclass(frozen=True)
class Mvin3(_Load, mnemonic="mvin3", funct=14, template=_LOAD_TEXT):
    __doc__ = _Load.__doc__


# By the id of the CONFIG_LD that they obey.
LOADS = (Mvin, Mvin2, Mvin3)


def mvin_class(id: int) -> type[_Load]:
    """The load that obeys the CONFIG_LD of this id."""
    if not 0 <= id < _LOAD_IDS:
        raise IsaError(f"mvin: id is {id}, needs 0 to {_LOAD_IDS - 1}")
    return LOADS[id]


@dataclass(frozen=True)
class Mvout(
    DeviceCommand,
    mnemonic="mvout",
    funct=3,
    template="{local} -> {dram_address}, {cols} cols, {rows} rows",
):
    """Copy to DRAM, as CONFIG_ST says. A pooling store takes its rows from there, not from here.

    From the accumulator: scaled, saturated and activated int8, or with `full_width` raw int32.
    """

    dram_address: int = address(1)
    local: LocalAddress = parted(2, 0, LocalAddress)
    cols: int = uint(2, 32, 16, at_least=1, at_most=_max_mvout_cols)
    rows: int = uint(2, 48, 16, at_most=_max_dim)

    def check_relations(self, config: GemminiConfig) -> None:
        if self.local.full_width:
            self.needs_feature(config, "has_acc_full_width_store", "a full-width store")


@dataclass(frozen=True)
class Preload(
    DeviceCommand,
    mnemonic="preload",
    funct=6,
    template="BD {bd} {bd_rows}x{bd_cols}, C {c} {c_rows}x{c_cols}",
):
    """Give the next COMPUTE its stationary operand and its destination.

    Weight-stationary: `bd` is B; after garbage a COMPUTE_ACCUMULATED goes on with the B before it.
    Output-stationary: `bd` is D, garbage is 0. Sizes are logical, after transposition.
    """

    bd: LocalAddress = parted(1, 0, LocalAddress, SCRATCHPAD_ONLY, OR_GARBAGE)
    bd_cols: int = uint(1, 32, 16, at_most=_max_dim)
    bd_rows: int = uint(1, 48, 16, at_most=_max_dim)
    c: LocalAddress = parted(2, 0, LocalAddress, OR_GARBAGE)
    c_cols: int = uint(2, 32, 16, at_most=_max_dim)
    c_rows: int = uint(2, 48, 16, at_most=_max_dim)


@dataclass(frozen=True)
class _Compute(DeviceCommand, mnemonic="compute"):
    """Multiply A with the stationary operand (weight-stationary: C = A x B + D).

    `bd` is D when weight-stationary, B when output-stationary; garbage is 0. Sizes are logical,
    after transposition. A must not be garbage.
    """

    a: LocalAddress = parted(1, 0, LocalAddress)
    a_cols: int = uint(1, 32, 16, at_most=_max_dim)
    a_rows: int = uint(1, 48, 16, at_most=_max_dim)
    bd: LocalAddress = parted(2, 0, LocalAddress, OR_GARBAGE)
    bd_cols: int = uint(2, 32, 16, at_most=_max_dim)
    bd_rows: int = uint(2, 48, 16, at_most=_max_dim)


_COMPUTE_TEXT = "A {a} {a_rows}x{a_cols}, BD {bd} {bd_rows}x{bd_cols}"


@dataclass(frozen=True)
class ComputePreloaded(_Compute, mnemonic="compute_preloaded", funct=4, template=_COMPUTE_TEXT):
    """COMPUTE that first takes in what PRELOAD brought: new B (weight-stationary) or new D."""


@dataclass(frozen=True)
class ComputeAccumulated(_Compute, mnemonic="compute_accumulated", funct=5, template=_COMPUTE_TEXT):
    """COMPUTE with the stationary operand that is in the array already."""


COMPUTES = (ComputePreloaded, ComputeAccumulated)


@dataclass(frozen=True)
class Flush(DeviceCommand, mnemonic="flush", funct=7):
    """Drop the address translations; `skip` gives up the request that missed."""

    skip: bool = flag(1, 0)


@dataclass(frozen=True)
class Counter(DeviceCommand, mnemonic="counter", funct=126):
    """Read counter `index`, after resetting, freezing or reassigning it. Values are unaffected.

    `configure` makes the counter count `event` (an external one with `external`). `unused` is
    what the host happened to have in rs2.
    """

    reset: bool = flag(1, 0)
    snapshot_reset: bool = flag(1, 1)
    snapshot: bool = flag(1, 2)
    configure: bool = flag(1, 3)
    index: int = uint(1, 4, 3, default=0)
    event: int = uint(1, 12, 6, default=0)
    external: bool = flag(1, 31)
    unused: int = uint(2, 0, 64, default=0)


CONFIGS = (ConfigEx, ConfigLd, ConfigSt, ConfigNorm)
COMMANDS = CommandSet(
    (
        *CONFIGS,
        *LOADS,
        Mvout,
        Preload,
        *COMPUTES,
        Flush,
        Counter,
        *LOOP_COMMANDS,
    ),
    setting=CONFIGS,
    computing=(Preload, *COMPUTES),
    looping=(LoopWs, LoopConvWs),
)
