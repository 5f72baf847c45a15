"""The known devices, and finding one by its name or file."""

from __future__ import annotations

from pathlib import Path

from .device import NpuConfig
from .json_file import load
from .limits import ConfigError

# The memories hold the same bytes in each: 256 KiB of scratchpad, 64 KiB of accumulator.
PRESETS: dict[str, NpuConfig] = {
    config.name: config
    for config in (
        NpuConfig(),
        NpuConfig(name="gemmini-8x8", dim=8, spad_bank_rows=8192, acc_bank_rows=1024),
        # A bit more than the generator's default, which 32 products of -128 and -128 leave.
        NpuConfig(
            name="gemmini-32x32",
            dim=32,
            array_output_bits=21,
            spad_bank_rows=2048,
            acc_bank_rows=256,
        ),
    )
}


def preset(name: str) -> NpuConfig:
    """See `NpuConfig.preset`."""
    if name not in PRESETS:
        raise ConfigError(f"no device preset is called {name!r}; there are: {', '.join(PRESETS)}")
    return PRESETS[name]


def find(name_or_file: str) -> NpuConfig:
    """See `NpuConfig.find`."""
    if name_or_file in PRESETS:
        return PRESETS[name_or_file]
    if not Path(name_or_file).exists():
        raise ConfigError(
            f"no device is called {name_or_file!r}, and there is no such file; "
            f"there are: {', '.join(PRESETS)}"
        )
    try:
        return load(name_or_file)
    except OSError as error:
        raise ConfigError(f"{name_or_file}: cannot be read: {error.strerror}") from error
