"""Devices as files: JSON, one object with every field."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from ..files import Pathish, write_atomically
from .device import NpuConfig
from .limits import ConfigError


def save(config: NpuConfig, path: Pathish) -> None:
    """See `NpuConfig.save`."""
    text = json.dumps(dataclasses.asdict(config), indent=2) + "\n"
    write_atomically(path, text.encode())


def load(path: Pathish) -> NpuConfig:
    """See `NpuConfig.load`."""
    try:
        fields = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a device description in JSON: {error}") from error
    if not isinstance(fields, dict):
        raise ConfigError(f"{path}: needs one JSON object, has a {type(fields).__name__}")
    return NpuConfig.from_dict(fields, source=str(path))
