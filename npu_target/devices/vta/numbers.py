"""VTA's numbers: int8 elements, int32 sums, a shift that the ALU rounds and clips."""

from __future__ import annotations

from ...device.numbers import Numbers
from ...device.shift_rule import ShiftRule

# The half that rounds is an immediate of 16 bits.
RULE = ShiftRule(most_bits=15)
NUMBERS = Numbers(RULE)
