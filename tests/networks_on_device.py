"""Networks all the way: quantized, on the host, and on the simulated device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm.ir import IRModule

from npu_target.build import compile_network
from npu_target.device import preset
from npu_target.host import build_host, run_host
from npu_target.numerics import decide
from npu_target.partition import Partitioned, partition
from npu_target.quantize import quantize
from npu_target.relax_graph import Graph, dtype_of, op_name
from npu_target.tuning.choose import Chooser

CONFIG = preset("gemmini-16x16")
_PRODUCTS = ("matmul", "nn.conv1d", "nn.conv2d", "nn.conv2d_transpose")


@dataclass(frozen=True)
class Ran:
    """`decibels` is the worst signal to noise of an output; `integer` the quantized function, by
    its operators with the types of their results."""

    decibels: float
    integer: list[tuple[str, str]]
    partitioned: Partitioned

    @property
    def regions(self) -> list[str]:
        return [region.op for region in self.partitioned.regions]

    @property
    def on_host(self) -> set[str]:
        return {decision.op for decision in self.partitioned.decisions if decision.region is None}


def run_on_device(mod: IRModule, inputs: list[list[np.ndarray]], calibrated: int = 3) -> Ran:
    """Quantize with some of the inputs, run all of them; what the host computes of the integer
    network is what the device does, to the last bit, and no product is the host's."""
    quantized = quantize(mod, inputs[:calibrated])
    partitioned = partition(quantized.mod, CONFIG, Chooser(CONFIG, None).device_function)
    networks = [build_host(mod), build_host(quantized.mod), compile_network(partitioned.mod)]
    signal, noise = {}, {}
    for arguments in inputs:
        reference, host, device = (run_host(network, *arguments) for network in networks)
        for index, (wanted, found, same) in enumerate(zip(reference, host, device, strict=True)):
            assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
            np.testing.assert_array_equal(found, same)
            signal[index] = signal.get(index, 0) + np.sum(wanted.astype("float64") ** 2)
            noise[index] = noise.get(index, 0) + np.sum((wanted.astype("float64") - found) ** 2)
    assert not _host_products(partitioned)
    graph = Graph(quantized.mod)
    integer = [(op_name(graph.value[var]) or "", dtype_of(var)) for var in graph.order]
    decibels = min(10 * np.log10(signal[index] / noise[index]) for index in signal)
    return Ran(
        float(decibels),
        [(name.removeprefix("relax."), dtype) for name, dtype in integer],
        partitioned,
    )


@dataclass(frozen=True)
class RanAsDecided:
    """host_products : the convolutions and products of matrices that the host computes."""

    partitioned: Partitioned
    host_products: list[str]


def run_as_decided(
    mod: IRModule, inputs: list[np.ndarray], wanted: list[np.ndarray]
) -> RanAsDecided:
    """A network that comes quantized, exactly: the device gives what is wanted, to the last bit."""
    decided = decide(mod, CONFIG)
    lower = Chooser(CONFIG, None).device_function
    partitioned = partition(decided.mod, CONFIG, lower, decided.host)
    found = run_host(compile_network(partitioned.mod), *inputs)
    for left, right in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(left, right)
    return RanAsDecided(partitioned, _host_products(partitioned))


def _host_products(partitioned: Partitioned) -> list[str]:
    return [
        decision.name
        for decision in partitioned.decisions
        if decision.region is None and decision.op in _PRODUCTS
    ]
