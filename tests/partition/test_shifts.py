"""A network for a device that requantizes by shifts: its sums are found, and mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import tiny_network
from my_npu.kind import KIND
from my_npu.numbers import NUMBERS
from quantization_accuracy import compare
from relax_functions import constant, function_of
from tvm import relax

from npu_target.device import DeviceKind, presets, registry
from npu_target.device.scale_rule import ScaleRule
from npu_target.device.shift_rule import ShiftRule
from npu_target.devices.gemmini import GEMMINI, GemminiConfig
from npu_target.host import build_host, run_host
from npu_target.partition import partition
from npu_target.quantize import quantize


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator:
    """Makes a kind of device the only one that is installed."""

    def only(kind: DeviceKind) -> DeviceKind:
        point = SimpleNamespace(name=kind.name, value="", load=lambda: kind)
        monkeypatch.setattr(registry, "entry_points", lambda group: [point])
        registry.installed.cache_clear()
        presets.cache_clear()
        return kind

    yield only
    monkeypatch.undo()
    registry.installed.cache_clear()
    presets.cache_clear()


def same_bits(mod, partitioned, *inputs) -> None:
    """Of definitions of TensorIR, and of Relax as it was."""
    wanted = run_host(build_host(mod), *inputs)
    found = run_host(build_host(partitioned.mod), *inputs)
    for a, b in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(a, b)
        assert len(np.unique(a)) > 2


def test_a_network_on_a_device_with_shifts(install):
    """All operators of Gemmini, and its features, with other numbers."""
    install(replace(GEMMINI, numbers_at="my_npu.numbers:NUMBERS"))
    model = tiny_network.tiny(None, 0)
    images = model.calibration_inputs(4)
    integer = quantize(model.mod, images[:2], rule=NUMBERS.rule)
    partitioned = partition(integer.mod, GemminiConfig())
    ops = {region.op for region in partitioned.regions}
    assert ops == {"conv2d", "add", "max_pool2d", "global_avg_pool", "matmul"}
    same_bits(integer.mod, partitioned, images[2])
    on_host = {d.reason for d in partitioned.decisions if d.where == "host"}
    assert not any("requantize" in reason for reason in on_host), on_host


@pytest.mark.long
def test_what_shifts_cost():
    """Measured: 33.3 dB with float32 scales, 27.5 with shifts, 24.2 with such that round down."""
    model = tiny_network.tiny(None, 0)
    images = model.calibration_inputs(12)

    def accuracy(rule):
        integer = quantize(model.mod, images[:8], rule=rule)
        return compare(model.mod, integer.mod, images[8:])

    scales, shifts, down = map(accuracy, (ScaleRule(), ShiftRule(), ShiftRule(rounds=False)))
    assert scales.sqnr_db > shifts.sqnr_db > down.sqnr_db > 22
    assert shifts.sqnr_db > 26
    assert scales.top1_agreement == shifts.top1_agreement == down.top1_agreement == 1.0


def test_another_kind_of_device_takes_its_operators_only(install):
    config = install(replace(KIND, operators=("matmul",))).presets[0]
    random = np.random.default_rng(0)

    def weight(*shape):
        return constant(random.normal(size=shape).astype("float32"))

    def body(emit, x):
        y = emit(relax.op.nn.relu(emit(relax.op.matmul(x, weight(19, 20)), "first")))
        z = emit(relax.op.matmul(y, weight(20, 19)), "second")
        return emit(relax.op.add(z, x), "sum")

    x = random.normal(size=(5, 19)).astype("float32")
    integer = quantize(function_of([(5, 19)], body), [x], rule=NUMBERS.rule)
    partitioned = partition(integer.mod, config)
    assert [region.op for region in partitioned.regions] == ["matmul", "matmul"]
    same_bits(integer.mod, partitioned, x)
    (told,) = [d for d in partitioned.decisions if d.name == "sum"]
    assert told.reason == "the device has no operation for add"


def test_sums_that_are_rounded_otherwise_stay_on_the_host(install):
    config = install(KIND).presets[0]

    def body(emit, x):
        weight = constant(np.ones((19, 4), np.int8))
        total = emit(relax.op.matmul(x, weight, out_dtype="int32"), "product")
        half = emit(relax.op.add(total, relax.const(np.int32(3))))
        shifted = emit(relax.op.right_shift(half, relax.const(np.int32(3))))
        return emit(relax.op.astype(emit(relax.op.clip(shifted, -128, 127)), "int8"))

    decisions = partition(function_of([(5, 19)], body, "int8"), config).decisions
    (told,) = [d for d in decisions if d.name == "product"]
    assert "what is added before shifting by 3 bits does not round as the device" in told.reason
