"""What the device computes: int8 elements, int32 sums, and how a sum becomes an element."""

from npu_target.device.numbers import Numbers
from npu_target.device.shift_rule import ShiftRule

RULE = ShiftRule()  # networks are quantized for it
NUMBERS = Numbers(RULE)
