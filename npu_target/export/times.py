"""How long a whole network takes: its layers one after another, with what the caches then hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..device_api import sequence_cycles
from .arena import lines
from .calls import Place
from .network import Layer, PlacedNetwork


@dataclass(frozen=True)
class LayerTime:
    """cycles : of a kernel, simulated, from a fence to a fence; of a part of the host, an estimate:
    a cycle for each of the instructions that it is told to run, caches left aside. `region` : which
    of the network's a kernel computes, by its name; None for a part of the host."""

    name: str
    cycles: int
    region: str | None = None

    @property
    def is_on_device(self) -> bool:
        return self.region is not None


@dataclass(frozen=True)
class NetworkTime:
    """What each call of a network takes, in order."""

    layers: tuple[LayerTime, ...]

    @property
    def device_cycles(self) -> int:
        """Of the kernels."""
        return sum(layer.cycles for layer in self.layers if layer.is_on_device)

    @property
    def host_cycles(self) -> int:
        """Of the host's own parts, an estimate."""
        return sum(layer.cycles for layer in self.layers if not layer.is_on_device)

    def text(self, clock_khz: int) -> str:
        """A line that says it."""
        line = (
            f"layers one after another, with what the L2 then holds: {self.device_cycles:,} cycles"
        )
        if self.host_cycles:
            line += f"; the host's own parts: about {self.host_cycles:,}"
        milliseconds = (self.device_cycles + self.host_cycles) / clock_khz
        return f"{line}; {milliseconds:.2f} ms in all"

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "device_cycles": self.device_cycles,
            "host_cycles_estimate": self.host_cycles,
            "layers": [
                {"name": layer.name, "on_device": layer.is_on_device, "cycles": layer.cycles}
                for layer in self.layers
            ],
        }


def network_time(network: PlacedNetwork) -> NetworkTime:
    """How long a network takes.

    Kernels find in the L2 what those before them left there, at the addresses that the tensors have
    in an export. What parts of the host move through it is not simulated.
    """
    kernels = [layer for layer in network.layers if layer.program is not None]
    programs = [layer.program.to_bytes() for layer in kernels if layer.program is not None]
    cycles = iter(sequence_cycles(programs, [_addresses(network, layer) for layer in kernels]))
    per_instruction = network.config.host_cycles_per_instruction
    return NetworkTime(
        tuple(
            LayerTime(layer.name, next(cycles), layer.program.name)
            if layer.program is not None
            else LayerTime(layer.name, _host_instructions(network, layer) * per_instruction)
            for layer in network.layers
        )
    )


def _host_instructions(network: PlacedNetwork, layer: Layer) -> int:
    if layer.instructions is not None:
        return layer.instructions
    # A copy: each word of eight bytes is loaded and stored.
    return 2 * -(-network.tensor(layer.arguments[0]).nbytes // 8)


def _addresses(network: PlacedNetwork, layer: Layer) -> list[int]:
    """Of a call's arguments: the weights first, then the arena, inputs, and outputs."""
    tensors = network.calls.inputs
    input_bytes = sum(lines(tensor.nbytes, network.line_bytes) for tensor in tensors)
    bases = {Place.CONSTANT: network.line_bytes}
    bases[Place.ARENA] = bases[Place.CONSTANT] + network.weights_bytes
    bases[Place.INPUT] = bases[Place.ARENA] + lines(network.arena_bytes, network.line_bytes)
    bases[Place.OUTPUT] = bases[Place.INPUT] + input_bytes
    return [bases[value.place] + network.offset(value) for value in layer.arguments]
