"""Step 5: a network, what the device can do on the device and the rest on the host."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from npu_target.build import compile_network
from npu_target.conformance.small_network import known_by_name
from npu_target.device import DeviceConfig
from npu_target.host import build_host, run_host
from npu_target.tuning.choose import Chooser
from npu_target.tuning.network import Network, load_network


@pytest.fixture(scope="module")
def network(config: DeviceConfig) -> Iterator[Network]:
    """The small network, quantized and partitioned for the device."""
    with known_by_name() as name:
        yield load_network(name, config)


def test_the_device_takes_a_part_of_it(network: Network) -> None:
    assert network.layers, "no region of the network is the device's"


def test_what_stays_on_the_host_has_its_reason(network: Network) -> None:
    for decision in network.partitioned.decisions:
        assert decision.region is not None or decision.reason


def test_the_network_computes_what_the_host_does(network: Network, config: DeviceConfig) -> None:
    chooser = Chooser(config, None)
    chooser.results(network.layers)
    partitioned = network.with_kernels(chooser.device_function)
    images = network.model.calibration_inputs(3, seed=11)
    on_host = build_host(network.quantized.mod)
    on_device = compile_network(partitioned.mod)
    for image in images:
        assert isinstance(image, np.ndarray)
        (wanted,) = run_host(on_host, image)
        (found,) = run_host(on_device, image)
        np.testing.assert_array_equal(found, wanted)
