"""What a device is, whatever its kind: config, commands, and the manifest that names its parts.

The kinds themselves are in `npu_target/devices/`, or in packages of their own.
"""

from .config import DeviceConfig
from .features import Elementwise, ElementwiseStep, Features, MultiplyStep, PooledStores
from .kind import DeviceKind, KindError
from .limits import ConfigError, Limits
from .memory import Memories, Memory
from .registry import (
    DEFAULT_DEVICE,
    find,
    kind_named,
    kind_of,
    kinds,
    load,
    preset,
    presets,
)

__all__ = [
    "DEFAULT_DEVICE",
    "ConfigError",
    "DeviceConfig",
    "DeviceKind",
    "Elementwise",
    "ElementwiseStep",
    "Features",
    "KindError",
    "Limits",
    "Memories",
    "Memory",
    "MultiplyStep",
    "PooledStores",
    "find",
    "kind_named",
    "kind_of",
    "kinds",
    "load",
    "preset",
    "presets",
]
