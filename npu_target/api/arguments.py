"""Arguments as people give them, looked at before anything takes time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..device import DeviceConfig, find
from ..errors import UserError
from ..numerics import NumericsOptions
from ..pipeline_options import PipelineOptions

_SEED_END = 1 << 31  # of NumPy's and TVM's


class ArgumentError(UserError, ValueError):
    """An argument that is none of what it may be; the text says which, and what it may be."""


def device_of(device: str | Path | DeviceConfig) -> DeviceConfig:
    """The device of this name or file. Raises ConfigError where there is none."""
    if isinstance(device, (str, os.PathLike)):
        return find(os.fspath(device))
    if not isinstance(device, DeviceConfig):
        raise ArgumentError(f"device must be a name, a file or a DeviceConfig, got {device!r}")
    return device


def pipeline_of(pipeline: str | PipelineOptions) -> PipelineOptions:
    """The optimizations of this name. Raises PipelineError where there are none."""
    if isinstance(pipeline, str):
        return PipelineOptions.parse(pipeline)
    if not isinstance(pipeline, PipelineOptions):
        raise ArgumentError(f"pipeline must be a name or PipelineOptions, got {pipeline!r}")
    return pipeline


def numerics_of(numerics: str | NumericsOptions | None) -> NumericsOptions | None:
    """By a mode, the options that have only that. Raises NumericsError where there is none."""
    if isinstance(numerics, str):
        return NumericsOptions(numerics)
    if numerics is not None and not isinstance(numerics, NumericsOptions):
        raise ArgumentError(f"numerics must be a mode or NumericsOptions, got {numerics!r}")
    return numerics


def paths_of(paths: str | Path | Sequence[str | Path]) -> list[Path]:
    """One path alone, too."""
    if isinstance(paths, (str, os.PathLike)):
        return [Path(paths)]
    return [Path(path) for path in paths]


def check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise ArgumentError(f"{name} must be a string, got {value!r}")


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ArgumentError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def check_whole_number(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ArgumentError(f"{name} must be at least {least}, got {value}")


def check_seed(value: object) -> None:
    check_whole_number("seed", value, 0)
    if isinstance(value, int) and value >= _SEED_END:
        raise ArgumentError(f"seed must be less than 2**31, got {value}")


def check_seconds(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentError(f"{name} must be a number of seconds, got {value!r}")
    if not 0 < value < float("inf"):
        raise ArgumentError(f"{name} must be more than 0, got {value:g}")
