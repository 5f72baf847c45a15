"""What definitions may use of a Gemmini is what it was built with, and definitions say so."""

from __future__ import annotations

import pytest

from npu_target.device import Features, MultiplyStep, PooledStores, kind_of
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.features import features
from npu_target.topi import Conv2d, MaxPool2d, OperatorError
from npu_target.topi.conv2d.windows import strips

CONFIG = GemminiConfig()


def test_of_the_default_device():
    found = kind_of(CONFIG).features(CONFIG)
    pools, step = PooledStores(3, 3), MultiplyStep("npu.gemm", 16)
    assert found == Features(
        pools, True, step, stores_sums=True, fills_borders=True, scales_blocks=True
    )


def test_without_pooling_a_max_pool_has_no_definition():
    device = CONFIG.replace(name="plain", has_pooling=False)
    assert features(device).pooled_stores is None
    with pytest.raises(OperatorError, match="the stores of plain pool nothing"):
        MaxPool2d(1, 8, 8, 16, 2, 2).prim_func(device)


def test_without_full_width_stores_no_operator_gives_sums():
    device = CONFIG.replace(name="plain", has_acc_full_width_store=False)
    assert not features(device).stores_sums
    operator = Conv2d(1, 8, 8, 16, 16, 1, 1, sums=True)
    with pytest.raises(OperatorError, match="the stores of plain give none as they are"):
        operator.prim_func(device)
    assert not any(example.sums for example in Conv2d.examples(device))
    assert any(example.sums for example in Conv2d.examples(CONFIG))


def test_windows_that_stores_cannot_count_have_no_definition():
    for size, stride, message in ((4, 2, "size is 4"), (3, 4, "stride is 4")):
        with pytest.raises(OperatorError, match=f"max_pool2d: {message}, the store unit takes 3"):
            MaxPool2d(1, 9, 9, 16, size, stride).prim_func(CONFIG)


def test_without_repeated_loads_nothing_is_stacked():
    layer = Conv2d(1, 224, 224, 3, 64, 7, 7, (2, 2), (3, 3, 3, 3)).kernel()
    device = CONFIG.replace(name="plain", has_first_layer_pixel_repeats=False)
    assert not features(device).stacked_loads
    for config, lines in ((CONFIG, 3), (device, 1)):
        assert strips(layer)[0].parts(layer, config).last.lines == lines
