"""Devices as files: JSON, one object with the kind and every field."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from ..files import Pathish, write_atomically
from .config import DeviceConfig
from .limits import ConfigError

KIND_KEY = "kind"


def save(config: DeviceConfig, path: Pathish) -> None:
    """See `DeviceConfig.save`."""
    fields = {KIND_KEY: config.kind, **dataclasses.asdict(config)}
    write_atomically(path, (json.dumps(fields, indent=2) + "\n").encode())


def read(path: Pathish) -> tuple[str, dict[str, Any]]:
    """The kind that a file names, and the fields.

    Raises ConfigError for a file that is no description of a device, OSError when it cannot be
    read.
    """
    try:
        fields = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also numbers of too many digits
        raise ConfigError(f"{path}: not a device description in JSON: {error}") from error
    if not isinstance(fields, dict):
        raise ConfigError(f"{path}: needs one JSON object, has a {type(fields).__name__}")
    kind = fields.pop(KIND_KEY, None)
    if not isinstance(kind, str):
        raise ConfigError(f"{path}: needs the {KIND_KEY!r} of the device, such as 'gemmini'")
    return kind, fields
