"""What an export tells for machines."""

from __future__ import annotations

from typing import Any

from .network import PlacedNetwork
from .times import NetworkTime


def to_json(network: PlacedNetwork, cycles: dict[str, int], time: NetworkTime) -> dict[str, Any]:
    """Sizes in bytes, and each layer with its simulated cycles, alone with cold caches, None for
    those of the host, and the instructions of the host's core; what all take in sequence."""
    return {
        "model": network.model,
        "device": network.config.name,
        "device_hash": network.config.hash,
        "arena_bytes": network.arena_bytes,
        "arena_least_bytes": network.plan.least_bytes,
        "weights_bytes": network.weights_bytes,
        "kernels": len({kernel.name for kernel in network.kernels.values()}),
        "host_functions": len({function.name for function in network.functions.values()}),
        "layers": [
            {
                "name": layer.name,
                "kernel": network.kernels[layer.program.name].name if layer.program else None,
                "cycles": cycles[layer.program.name] if layer.program else None,
                "instructions": layer.instructions,
            }
            for layer in network.layers
        ],
        "in_sequence": time.to_json(),
    }
