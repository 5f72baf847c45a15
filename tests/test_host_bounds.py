"""What the programs of the models ask of the host core: how many layers miss a bound.

The numbers are what was reached. A lower one is a gain to be written here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from test_logged_totals import CONFIG, log_of

from npu_target.codegen_tir import build_program
from npu_target.device_api import host_cost
from npu_target.program import Program
from npu_target.schedule_rules.host_bounds import (
    MOST_INSTRUCTIONS_PER_COMMAND,
    MOST_LOOP_BYTES,
    MOST_ONCE_SHARE,
)
from npu_target.tuning.choose import Chooser, cycles_of
from npu_target.tuning.dump import best_program
from npu_target.tuning.network import load_network
from npu_target.tuning.schedules import default_of


class Missed(NamedTuple):
    """Layers over each bound."""

    instructions: int
    loop_bytes: int
    once: int


BY_DEFAULT = {
    "bert_base": Missed(0, 0, 0),
    "matmuls": Missed(0, 0, 2),
    "mobilenet_v2": Missed(0, 0, 12),
    "resnet18": Missed(0, 0, 1),
    "resnet50": Missed(0, 0, 0),
}
BY_LOGS = {
    "bert_base": Missed(0, 0, 0),
    "matmuls": Missed(0, 0, 2),
    "mobilenet_v2": Missed(0, 0, 13),
    "resnet18": Missed(0, 0, 2),
    "resnet50": Missed(0, 0, 0),
}


def missed(programs: Iterator[Program], *, with_cycles: bool = True) -> Missed:
    """How many programs are over each bound; without their cycles none is over the last."""
    instructions = loop_bytes = once = 0
    for program in programs:
        cost = host_cost(program.to_bytes())
        instructions += cost.instructions_per_command > MOST_INSTRUCTIONS_PER_COMMAND
        loop_bytes += cost.loop_bytes > MOST_LOOP_BYTES
        once += with_cycles and cost.once_cycles > MOST_ONCE_SHARE * cycles_of(program)
    return Missed(instructions, loop_bytes, once)


def default_programs(model: str) -> Iterator[Program]:
    for layer in load_network(model, CONFIG).layers:
        schedule = default_of(layer.operator, CONFIG)
        yield build_program(schedule.mod["main"], CONFIG, layer.operator.name)


def logged_programs(model: str) -> Iterator[Program]:
    log = log_of(model)
    for result in Chooser(CONFIG, log).results(load_network(model, CONFIG).layers):
        yield best_program(result, CONFIG, log)


def check(found: Missed, most: Missed) -> None:
    for field in Missed._fields:
        assert getattr(found, field) <= getattr(most, field), (field, found)


@pytest.mark.long
@pytest.mark.parametrize("model", ["bert_base", "mobilenet_v2", "resnet18"])
def test_default_code(model):
    check(missed(default_programs(model), with_cycles=False), BY_DEFAULT[model])


@pytest.mark.slow
@pytest.mark.parametrize("model", BY_DEFAULT)
def test_default_programs(model):
    check(missed(default_programs(model)), BY_DEFAULT[model])


@pytest.mark.slow
@pytest.mark.parametrize("model", BY_LOGS)
def test_logged_programs(model):
    check(missed(logged_programs(model)), BY_LOGS[model])
