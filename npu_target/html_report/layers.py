"""What there is to show of a layer: its cycles, what bounds them, and its program over time."""

from __future__ import annotations

from typing import Any

from ..device import DeviceConfig, kind_of
from ..program import Program
from ..tuning.report import LayerResult
from .bounds import bounds
from .lanes import lanes
from .memory_rows import memory_maps
from .reasons import reasons_over_time
from .runs import Run, run


def layer_entry(
    number: int, result: LayerResult, program: Program, config: DeviceConfig
) -> dict[str, Any]:
    """`number` counts a network's layers from 1; `program` is that of the layer's chosen schedule,
    which is run once."""
    layer, found = result.layer, run(program)
    least = bounds(found, layer.macs, config)
    entry = {
        "number": number,
        "name": layer.name,
        "op": layer.operator.op,
        "count": layer.count,
        "macs": layer.macs,
        "default_cycles": result.default_cycles,
        "cycles": result.cycles,
        "utilization": result.utilization(config),
        "schedule": result.source,
        "route": result.route,
        "packed": list(result.packed or ()),
        "trials": result.trials,
        "in_sequence_cycles": list(result.in_sequence or ()),
        "measured_cycles": None if found.cycles == result.cycles else result.cycles,
        "simulated_cycles": found.cycles,
        "counts": dict(found.counts),
        "bounds": {
            "cycles": dict(least.cycles),
            "largest": least.largest,
            "link": least.link,
            "share": least.cycles[least.largest] / found.cycles,
        },
        "breakdown": dict(found.breakdown),
        "roofline": _point(found, layer.macs, config),
        "over_time": None,
    }
    if found.slices is not None:
        entry["over_time"] = _over_time(found, config)
    return entry


def _point(found: Run, macs: int, config: DeviceConfig) -> dict[str, float] | None:
    """Where a layer is: multiply-accumulates for a byte that the way to DRAM has to carry, and for
    a cycle. None for one that multiplies nothing or whose traffic is not known."""
    if not macs or not config.links:
        return None
    carried = config.links[-1].bytes(found.counts)
    return {"macs_per_byte": macs / max(1, carried), "macs_per_cycle": macs / found.cycles}


def _over_time(found: Run, config: DeviceConfig) -> dict[str, Any]:
    assert found.slices is not None
    terms = kind_of(config).profile
    end = found.cycles if found.cut_at is None else found.cut_at
    return {
        "cycles": end,
        "cut_at": found.cut_at,
        "lanes": lanes(found.slices, terms),
        "reasons": reasons_over_time(found.slices, terms, end),
        "memories": memory_maps(found.slices, terms, config, end),
    }
