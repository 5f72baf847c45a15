"""NpuConfig: every hardware number of a device, in one frozen object.

Nothing else in the package states a size, a queue depth or a latency. The compiler, the
simulator (C++, the same field names), the target tags and the tuning logs all read it.
"""

from .device import NpuConfig
from .limits import ConfigError
from .presets import PRESETS

__all__ = ["PRESETS", "ConfigError", "NpuConfig"]
