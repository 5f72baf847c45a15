"""How large a device is, roughly: enough to compare those of a sweep with each other.

What was published of a Gemmini with 16 x 16 multipliers, 256 KiB of scratchpad and 64 KiB of
accumulator, placed and routed in 22 nm (Genc et al., "Gemmini: Enabling Systematic Deep-Learning
Architecture Evaluation via Full-Stack Integration", DAC 2021, figure 6) is scaled: the array with
its multipliers, memories with what they hold.
"""

from __future__ import annotations

from ..device import DeviceConfig

_ARRAY_UM2, _ARRAY_MACS = 116_000, 256
_SCRATCHPAD_UM2, _SCRATCHPAD_KIB = 544_000, 256


def area_mm2(config: DeviceConfig, base: DeviceConfig) -> float:
    """The area of a device's multipliers and its own memories, in square millimetres of that
    process. Caches count with what they have more, or less, than those of `base`. What every device
    has besides, wires and the host among it, is not in it."""
    n_bytes = sum(config.memory_bytes.values()) + config.cache_bytes - base.cache_bytes
    array = config.peak_macs / _ARRAY_MACS * _ARRAY_UM2
    return (array + n_bytes / 1024 / _SCRATCHPAD_KIB * _SCRATCHPAD_UM2) / 1e6
