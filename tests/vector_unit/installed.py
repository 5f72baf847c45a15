"""A vector unit as a kind of device that is installed in this process."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

import pytest
import tvm_ffi

from npu_target.device import registry
from npu_target.device_api.simulators import register_simulator
from npu_target.schedule_rules import default

from .commands import simulate
from .device import KIND


@pytest.fixture
def vector_unit(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Its kind is known, and programs for it run."""
    found = MappingProxyType({**registry.kinds(), KIND.name: KIND})
    monkeypatch.setattr(registry, "kinds", lambda: found)
    monkeypatch.setattr(default, "_chosen", {})
    register_simulator(KIND.name, simulate)
    yield
    tvm_ffi.registry.remove_global_func(f"npu.simulator.{KIND.name}")
