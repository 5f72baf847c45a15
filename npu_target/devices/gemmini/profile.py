"""Where Gemmini's cycles go, seen from the array; `sim/timing/recorder.h` states the rules."""

from __future__ import annotations

from ...device.profile import Lane, LaneKind, ProfileTerms

PROFILE = ProfileTerms(
    reasons={
        "array_busy": "array busy",
        "loads": "waiting for loads",
        "stores": "waiting for stores",
        "bank_conflict": "bank conflict",
        "dependency": "dependency",
        "host_issue": "host issue",
        "drain": "drain",
    },
    evidence={
        "array_busy": ("computes", "preloads", "macs"),
        "loads": ("bytes_loaded", "l2_misses", "loads"),
        "stores": ("bytes_stored", "stores"),
        "bank_conflict": ("bytes_loaded", "computes"),
        "dependency": ("config_ex commands", "preloads"),
        "host_issue": ("commands",),
    },
    groups={
        "computes": ("compute_preloaded", "compute_accumulated"),
        "preloads": ("preload",),
        "loads": ("mvin", "mvin2", "mvin3"),
        "stores": ("mvout",),
        "config_ex commands": ("config_ex",),
    },
    lanes=(
        Lane(10, "host", LaneKind.HOST),
        Lane(20, "load"),
        Lane(30, "execute: compute"),
        Lane(40, "execute: preload"),
        Lane(50, "store"),
        Lane(1000, "DMA reads", LaneKind.TRANSFERS),
        Lane(2000, "DMA writes", LaneKind.TRANSFERS),
        Lane(60, "array", LaneKind.REASONS),
    ),
    queues=("load", "execute", "store"),
)
