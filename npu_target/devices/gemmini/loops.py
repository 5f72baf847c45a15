"""The hardware's own loops (LOOP_WS, LOOP_CONV_WS), expanded. Importing this module imports TVM."""

from __future__ import annotations

import tvm_ffi

from ...device_api import plain_numbers
from .config import GemminiConfig


def expand_loops(config: GemminiConfig, commands: bytes) -> bytes:
    """A command stream with the hardware's loops replaced by what they come to.

    `commands` is packed as `device_api.expand_program` packs them, and so is the result: the simple
    commands of each loop in the order of each unit (loads, computes, stores), the units one after
    another; the hardware interleaves them. Raises RuntimeError [undefined_configuration],
    [address_out_of_range] or [unsupported_command] for a loop that the device cannot run.
    """
    expand = tvm_ffi.get_global_func("npu.gemmini.expand_loops")
    return bytes(expand(plain_numbers(config.numbers()), commands))
