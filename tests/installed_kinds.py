"""Kinds of device that are installed in this process alone, as packages of others are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType

import pytest
import tvm_ffi

from npu_target.device import DeviceKind, registry
from npu_target.device_api.simulators import register_simulator
from npu_target.schedule_rules import default


@contextmanager
def installed(kind: DeviceKind) -> Iterator[None]:
    """A kind that has a simulator in Python is known, and programs for it run."""
    found = MappingProxyType({**registry.kinds(), kind.name: kind})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "kinds", lambda: found)
        patch.setattr(registry, "presets", cache(registry.presets.__wrapped__))
        patch.setattr(default, "_chosen", {})
        register_simulator(kind.name, kind.simulate)
        yield
        tvm_ffi.registry.remove_global_func(f"npu.simulator.{kind.name}")
