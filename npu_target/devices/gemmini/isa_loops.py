"""The commands of the hardware's own loops: LOOP_WS (matrix multiply) and LOOP_CONV_WS.

Each loop is set up by its configuration commands and started by LoopWs or LoopConvWs. The
convolution is that of the rectangular encoding (rows and columns of images apart).
"""

from __future__ import annotations

from dataclasses import dataclass

from ...device.commands import WORD_BITS, DeviceCommand, address, flag, uint
from .config import GemminiConfig

_ACTIVATIONS_WS = ("none", "relu", "layernorm", "igelu", "softmax")
_ACTIVATIONS_CONV = _ACTIVATIONS_WS[:4]


class _LoopCommand(DeviceCommand, mnemonic="loop"):
    def check_relations(self, config: GemminiConfig) -> None:
        self.needs_feature(config, "has_loop_commands", "a hardware loop")


@dataclass(frozen=True)
class LoopWs(_LoopCommand, mnemonic="loop_ws", funct=8):
    """C = A x B + D over the blocks that the configuration gives, weight-stationary.

    `ex_accumulate` starts from what the accumulator holds, `full_c` stores int32, `low_d` loads D
    as int8. `a_spad_id` and `b_spad_id` (0: none) choose a half of the scratchpad that keeps its
    operand. The `skip_*` bits leave out a part (loads of A, B, D; the computes; the stores).
    `residual_add` adds A and B instead. With `spad_only`, C goes to row `c_spad_row`.
    """

    ex_accumulate: bool = flag(1, 0)
    full_c: bool = flag(1, 1)
    low_d: bool = flag(1, 2)
    activation: int = uint(1, 8, 3, default=0, names=_ACTIVATIONS_WS)
    b_spad_id: int = uint(1, 16, 2, default=0)
    a_spad_id: int = uint(1, 18, 2, default=0)
    transpose_a: bool = flag(2, 0)
    transpose_b: bool = flag(2, 1)
    residual_add: bool = flag(2, 2)
    skip_load_a: bool = flag(2, 3)
    skip_load_b: bool = flag(2, 4)
    skip_load_d: bool = flag(2, 5)
    skip_execute: bool = flag(2, 6)
    skip_store: bool = flag(2, 7)
    next_acc_half: bool = flag(2, 8)
    spad_only: bool = flag(2, 9)
    c_spad_row: int = uint(2, 32, 32, default=0)


@dataclass(frozen=True)
class LoopWsBounds(_LoopCommand, mnemonic="loop_ws.bounds", funct=9):
    """Numbers of blocks I (rows of C), J (columns of C), K, and elements missing in the last."""

    i_blocks: int = uint(2, 0, 16)
    j_blocks: int = uint(2, 16, 16)
    k_blocks: int = uint(2, 32, 16)
    i_pad: int = uint(1, 0, 16, default=0)
    j_pad: int = uint(1, 16, 16, default=0)
    k_pad: int = uint(1, 32, 16, default=0)


@dataclass(frozen=True)
class LoopWsAddressesAB(_LoopCommand, mnemonic="loop_ws.addresses_ab", funct=10):
    """DRAM addresses of A and B; 0 when the operand is not loaded."""

    a_address: int = address(1)
    b_address: int = address(2)


@dataclass(frozen=True)
class LoopWsAddressesDC(_LoopCommand, mnemonic="loop_ws.addresses_dc", funct=11):
    """DRAM addresses of D and C; 0: no D, or no store."""

    d_address: int = address(1)
    c_address: int = address(2)


@dataclass(frozen=True)
class LoopWsStridesAB(_LoopCommand, mnemonic="loop_ws.strides_ab", funct=12):
    """Elements between rows of A and of B in DRAM."""

    a_stride: int = uint(1, 0, WORD_BITS)
    b_stride: int = uint(2, 0, WORD_BITS)


@dataclass(frozen=True)
class LoopWsStridesDC(_LoopCommand, mnemonic="loop_ws.strides_dc", funct=13):
    """Elements between rows of D and of C in DRAM."""

    d_stride: int = uint(1, 0, WORD_BITS)
    c_stride: int = uint(2, 0, WORD_BITS)


@dataclass(frozen=True)
class LoopConvWs(_LoopCommand, mnemonic="loop_conv_ws", funct=15):
    """Run the configured convolution.

    `rotate_180`, the transpositions and `input_dilated` serve training. `max_pixels_per_row`
    puts several pixels of few channels into one row (0 means 1). `downsample` skips every second
    input row and column of a 1x1 convolution of stride 2.
    """

    no_bias: bool = flag(1, 0)
    rotate_180: bool = flag(1, 1)
    transpose_output_1203: bool = flag(1, 2)
    transpose_weight_1203: bool = flag(1, 3)
    transpose_weight_0132: bool = flag(1, 4)
    transpose_input_3120: bool = flag(1, 5)
    depthwise: bool = flag(1, 6)
    max_pixels_per_row: int = uint(1, 8, 8, default=1)
    b_spad_id: int = uint(1, 16, 2, default=0)
    a_spad_id: int = uint(1, 18, 2, default=0)
    no_pool: bool = flag(2, 0)
    downsample: bool = flag(2, 1)
    input_dilated: bool = flag(2, 2)
    activation: int = uint(2, 3, 2, default=0, names=_ACTIVATIONS_CONV)


@dataclass(frozen=True)
class LoopConvWsDims(_LoopCommand, mnemonic="loop_conv_ws.config_1", funct=16):
    """The whole images: batch, channels, rows of the input; rows and columns of the output."""

    batch_size: int = uint(1, 0, 16)
    in_rows: int = uint(1, 16, 16)
    in_channels: int = uint(1, 32, 16)
    out_channels: int = uint(1, 48, 16)
    out_rows: int = uint(2, 0, 16)
    pool_out_rows: int = uint(2, 16, 16)
    out_cols: int = uint(2, 32, 16)
    stride: int = uint(2, 48, 8)
    padding: int = uint(2, 56, 8)


@dataclass(frozen=True)
class LoopConvWsPool(_LoopCommand, mnemonic="loop_conv_ws.config_2", funct=17):
    """Kernel and pooling of the whole; batches and pooled rows, columns, channels of this tile."""

    pool_padding: int = uint(1, 0, 8)
    pool_stride: int = uint(1, 8, 8)
    pool_size: int = uint(1, 16, 16)
    pool_out_cols: int = uint(1, 32, 16)
    kernel_dim: int = uint(1, 48, 16)
    tile_channels: int = uint(2, 0, 16)
    tile_pool_cols: int = uint(2, 16, 16)
    tile_pool_rows: int = uint(2, 32, 16)
    tile_batches: int = uint(2, 48, 16)


@dataclass(frozen=True)
class LoopConvWsKernel(_LoopCommand, mnemonic="loop_conv_ws.config_3", funct=18):
    """Kernel rows, columns, input channels of this tile, its padding; columns of the input."""

    left_pad: int = uint(1, 0, 16)
    kernel_channels: int = uint(1, 16, 16)
    kernel_cols: int = uint(1, 32, 16)
    kernel_rows: int = uint(1, 48, 16)
    in_cols: int = uint(2, 0, 16)
    pool_left_pad: int = uint(2, 16, 8)
    down_pad: int = uint(2, 24, 8)
    upper_pad: int = uint(2, 32, 16)
    right_pad: int = uint(2, 48, 16)


@dataclass(frozen=True)
class LoopConvWsBounds(_LoopCommand, mnemonic="loop_conv_ws.config_4", funct=19):
    """Output rows and columns of this tile, paddings of its pooling, dilation, and the elements
    between pixels of the input, rows of the weights and pixels of the output in DRAM."""

    kernel_dilation: int = uint(1, 0, 10)
    pool_down_pad: int = uint(1, 10, 11)
    pool_upper_pad: int = uint(1, 21, 11)
    pool_right_pad: int = uint(1, 32, 16)
    tile_rows: int = uint(1, 48, 16)
    tile_cols: int = uint(2, 0, 16)
    out_stride: int = uint(2, 16, 16)
    weight_stride: int = uint(2, 32, 16)
    in_stride: int = uint(2, 48, 16)


@dataclass(frozen=True)
class LoopConvWsAddressesWO(_LoopCommand, mnemonic="loop_conv_ws.config_5", funct=20):
    """DRAM addresses of the weights and of the output (0: no store)."""

    weights_address: int = address(1)
    output_address: int = address(2)


@dataclass(frozen=True)
class LoopConvWsAddressesBI(_LoopCommand, mnemonic="loop_conv_ws.config_6", funct=21):
    """DRAM addresses of the bias (0: zeros) and of the input (0: not loaded)."""

    bias_address: int = address(1)
    input_address: int = address(2)


LOOP_COMMANDS = (
    LoopWs,
    LoopWsBounds,
    LoopWsAddressesAB,
    LoopWsAddressesDC,
    LoopWsStridesAB,
    LoopWsStridesDC,
    LoopConvWs,
    LoopConvWsDims,
    LoopConvWsPool,
    LoopConvWsKernel,
    LoopConvWsBounds,
    LoopConvWsAddressesWO,
    LoopConvWsAddressesBI,
)
