"""A device for npu_target: a unit that multiplies vectors by a matrix, and a copy engine."""
