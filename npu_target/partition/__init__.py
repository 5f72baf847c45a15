"""The integer network split: regions for the device, the rest for the host."""

from .explain import explain
from .partitioner import Decision, Partitioned, Region, partition, topi_lowering

__all__ = ["Decision", "Partitioned", "Region", "explain", "partition", "topi_lowering"]
