"""Programs as the code generator makes them before it moves copies about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import strategies as st
from kernel_runs import kernel_schedule
from operator_strategies import conv2ds, matmuls
from program_evaluator import expand
from row_histories import row_histories

from npu_target import codegen_tir, topi
from npu_target.codegen_tir import DoesNotFit, build_program
from npu_target.config import NpuConfig
from npu_target.isa_encoding import CONFIG_FUNCT
from npu_target.program import Node, Program
from npu_target.topi.templates import templates

DEVICE = NpuConfig.preset("gemmini-8x8")
OPERATORS = st.one_of(conv2ds(), matmuls())


@contextmanager
def plain_code() -> Iterator[None]:
    """Copies stay where the code generator leaves them."""

    def as_they_are(nodes: tuple[Node, ...], *_: Any) -> tuple[Node, ...]:
        return nodes

    with pytest.MonkeyPatch.context() as patch:
    XX
            patch.setattr(codegen_tir, name, as_they_are)
        yield


def plain_program(operator: topi.Operator, config: NpuConfig, template: int, seed: int) -> Program:
    """One of the templates with random tiles. Raises DoesNotFit."""
    schedule = kernel_schedule(operator, config, seed=seed)
    found = list(templates(operator.kernel()))
    found[template % len(found)](schedule)
    with plain_code():
        return build_program(schedule.mod["main"], config, operator.name)


def stream(program: Program) -> list[tuple[int, int, int]]:
    addresses = {arg.name: 0x8000_0000 + (i << 24) for i, arg in enumerate(program.args)}
    return expand(program, addresses)


def check_same_rows(plain: Program, final: Program) -> None:
    """Two programs have the same commands but for settings, each of which obeys the same ones, and
    every row of the memories sees the same. What lies between them does not matter."""
    before, after = stream(plain), stream(final)
    counts = [Counter(w for w in words if w[0] != CONFIG_FUNCT) for words in (before, after)]
    assert counts[0] == counts[1]
    assert row_histories(after, final.config) == row_histories(before, plain.config)


def check_rows(
    operator: topi.Operator, template: int, seed: int, change: Callable[[Program], Program]
) -> None:
    """A changed program has the same commands, and every row of the memories sees the same."""
    try:
        program = plain_program(operator, DEVICE, template, seed)
    except DoesNotFit:
        return
    before, after = stream(program), stream(change(program))
    assert Counter(after) == Counter(before)
    assert row_histories(after, DEVICE) == row_histories(before, DEVICE)
