"""A package for a new kind of device: `npu-target new-device NAME DIR`.

What it writes is in `template`, a device that works: a unit that multiplies vectors by a matrix,
and an engine that copies. docs/porting.md says how it becomes another one.
"""
