"""What a program may ask of the host core, and what it is worth to stay within that.

Code that runs once stalls on every line that is not cached; loops that do not fit the instruction
cache do so in every iteration; and a host that runs more instructions a command than the engines
take cycles keeps them waiting. Programs' cycles have all that in them, by the config's numbers; the
bounds keep code small where those hardly tell one program from another.
"""

from __future__ import annotations

from ..device_api import HostCost, host_cost, program_cycles

MOST_INSTRUCTIONS_PER_COMMAND = 3.0
MOST_LOOP_BYTES = 12 * 1024
# Of the cycles of a program, in code that runs once.
MOST_ONCE_SHARE = 0.03
# What a program may take longer for each of them. Cycles tell no finer: kernels that ran on the RTL
# took 1.2 % more or less than the simulator says, on average (docs/results/rtl.md).
_WORTH = 0.01
_BOUNDS = 3


def missed_host_bounds(cost: HostCost, cycles: int) -> int:
    """How many of them a program that takes ``cycles`` is over."""
    return (
        (cost.instructions_per_command > MOST_INSTRUCTIONS_PER_COMMAND)
        + (cost.loop_bytes > MOST_LOOP_BYTES)
        + (cost.once_cycles > MOST_ONCE_SHARE * cycles)
    )


def ranked(cycles: int, cost: HostCost) -> float:
    """The cycles of a program, more by what the bounds are worth that it is over: the lower the
    better."""
    return cycles * (1 + _WORTH * missed_host_bounds(cost, cycles))


def ranked_cycles(program: bytes) -> float:
    """The same of a program file. Raises RuntimeError for one that cannot run."""
    cycles = program_cycles(program)
    assert cycles is not None
    return ranked(cycles, host_cost(program))


def may_outrank(cycles: int, fewer: int) -> bool:
    """Whether a program that takes ``cycles`` can come before one that takes ``fewer``."""
    return cycles <= (1 + _BOUNDS * _WORTH) * fewer
