"""What a whole network takes."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from npu_target.device import preset
from npu_target.device_api import sequence_cycles
from npu_target.export.calls import Place, Tensor, Value, calls_of
from npu_target.export.network import Layer, PlacedNetwork, place
from npu_target.export.times import network_time
from npu_target.tuning.choose import Chooser
from npu_target.tuning.network import load_network

CONFIG = preset("gemmini-16x16")


@pytest.fixture(scope="module")
def network(tiny_model) -> PlacedNetwork:
    loaded = load_network("tiny", CONFIG)
    partitioned = loaded.with_kernels(Chooser(CONFIG, None).device_function)
    return place("tiny", CONFIG, calls_of(partitioned.mod))


@pytest.mark.long
def test_every_call_has_its_time(network: PlacedNetwork) -> None:
    found = network_time(network)
    times = found.layers
    assert found.device_cycles + found.host_cycles == sum(time.cycles for time in times)
    assert f"{found.device_cycles:,} cycles; the host's own parts: about" in found.text(500_000)
    assert [time.name for time in times] == [layer.name for layer in network.layers]
    for time, layer in zip(times, network.layers, strict=True):
        assert time.is_on_device == (layer.program is not None)
        if layer.host is not None:
            assert time.cycles == layer.host.instructions > 0


def test_layers_find_what_those_before_them_left(network: PlacedNetwork) -> None:
    """The small network fits in the L2: a layer whose input was just written is faster than alone,
    in all, and the first one is as it is alone."""
    of_device = [time.cycles for time in network_time(network).layers if time.is_on_device]
    alone = []
    for layer in network.layers:
        if layer.program is not None:
            sole = replace(network, layers=(layer,))
            alone.append(network_time(sole).device_cycles)
    assert of_device[0] == alone[0]
    assert sum(of_device) < sum(alone)


def test_a_copy_loads_and_stores_each_word(network: PlacedNetwork) -> None:
    source, target = Value(Place.INPUT, 0), Value(Place.OUTPUT, 0)
    calls = replace(network.calls, inputs=[Tensor("x", "int8", (3, 15))], calls=[])
    copied = replace(network, calls=calls, layers=(Layer("copy", (source, target)),))
    (time,) = network_time(copied).layers
    assert (time.is_on_device, time.cycles) == (False, 2 * 6)


def test_no_two_tensors_of_a_call_are_at_one_place(network: PlacedNetwork, monkeypatch) -> None:
    given = []

    def watched(programs, addresses):  # type: ignore[no-untyped-def]
        given.extend(zip(programs, addresses, strict=True))
        return sequence_cycles(programs, addresses)

    monkeypatch.setattr("npu_target.export.times.sequence_cycles", watched)
    network_time(network)
    kernels = [layer for layer in network.layers if layer.program is not None]
    assert len(given) == len(kernels)
    for layer, (_, addresses) in zip(kernels, given, strict=True):
        ends = []
        for value, address in zip(layer.arguments, addresses, strict=True):
            assert address % network.line_bytes == 0
            ends.append((address, address + network.tensor(value).nbytes))
        ends.sort()
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(ends))
