"""Which device, and what made the report."""

from __future__ import annotations

import platform
from typing import Any

import tvm

import npu_target

from ..device import DeviceConfig, kind_of


def device_entry(config: DeviceConfig) -> dict[str, Any]:
    """Its name, its numbers, and the words for what it tells."""
    return {
        "name": config.name,
        "kind": config.kind,
        "hash": config.hash,
        "clock_khz": config.clock_khz,
        "peak_macs": config.peak_macs,
        "memory_bytes": config.memory_bytes,
        "numbers": {name: int(value) for name, value in config.numbers().items()},
        "reasons": dict(kind_of(config).profile.reasons),
        "links": [
            {
                "title": link.title,
                "bytes_per_cycle": link.bytes_per_cycle,
                "is_shared": link.is_shared,
            }
            for link in config.links
        ],
    }


def versions_entry(command: str) -> dict[str, str]:
    """By what, and with which command line."""
    return {
        "command": command,
        "npu_target": npu_target.__version__,
        "Apache TVM": tvm.__version__,
        "Python": platform.python_version(),
    }
