"""The known devices."""

from __future__ import annotations

from .config import GemminiConfig

# The memories hold the same bytes in each: 256 KiB of scratchpad, 64 KiB of accumulator.
PRESETS = (
    GemminiConfig(),
    GemminiConfig(name="gemmini-8x8", dim=8, spad_bank_rows=8192, acc_bank_rows=1024),
    # A bit more than the generator's default, which 32 products of -128 and -128 leave.
    GemminiConfig(
        name="gemmini-32x32",
        dim=32,
        array_output_bits=21,
        spad_bank_rows=2048,
        acc_bank_rows=256,
    ),
)
