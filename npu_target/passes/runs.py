"""Loops around steps and copies, cut where addresses do not go on evenly.

A definition may walk several kinds of steps in one loop over its reduction, or rows of several
places in one loop over a tile's: then addresses are divisions or maxima of the loop's variable.  A
program advances addresses by additions, so such a loop becomes one for each run of iterations
along which all of them do.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore, Var

from ..device import DeviceConfig, kind_of
from ..intrin import step_call
from .errors import about
from .linear import Linear, linear
from .sources import replaced


def cut_into_runs(func: tirx.PrimFunc, config: DeviceConfig) -> tirx.PrimFunc:
    """A lowered function in whose nests of steps and loads addresses advance evenly.  All steps of
    a nest add to sums, all copies write elements of their own: so the runs of a loop may come one
    after the other, each in all loops around."""
    body = _cut(func.body, config)
    if body.same_as(func.body):
        return func
    mod = tvm.IRModule({"main": func.with_body(body)})
    return tirx.transform.StmtSimplify()(mod)["main"]


def _cut(stmt: tirx.Stmt, config: DeviceConfig) -> tirx.Stmt:
    if isinstance(stmt, tirx.SeqStmt):
        before = stmt.seq[:]
        parts = [_cut(part, config) for part in before]
        is_same = all(a.same_as(b) for a, b in zip(parts, before, strict=True))
        return stmt if is_same else tirx.SeqStmt(parts)
    if isinstance(stmt, tirx.IfThenElse):
        then = _cut(stmt.then_case, config)
        otherwise = stmt.else_case and _cut(stmt.else_case, config)
        if then.same_as(stmt.then_case) and (not otherwise or otherwise.same_as(stmt.else_case)):
            return stmt
        return tirx.IfThenElse(stmt.condition, then, otherwise)
    if not isinstance(stmt, tirx.For):
        return stmt
    loops = [stmt]
    while isinstance(loops[-1].body, tirx.For):
        loops.append(loops[-1].body)
    leaf = loops[-1].body
    if not _is_step_or_load(leaf, config):
        body = _cut(stmt.body, config)
        return stmt if body.same_as(stmt.body) else _around(stmt, body)
    # The variables of the nest's loops have the numbers of these, others those that follow.
    env: defaultdict[Var, Linear] = defaultdict(lambda: Linear.loop(len(env)))
    env.update({each.loop_var: Linear.loop(level) for level, each in enumerate(loops)})
    with about(leaf):
        level, runs = _first_to_cut(loops, leaf, env)
    if len(runs) < 2:
        return stmt
    loop = loops[level]
    nests = []
    for first, end in pairwise([*runs, int(loop.extent.value)]):
        variable = tirx.Var(str(loop.loop_var.name), loop.loop_var.ty)
        nest: tirx.Stmt = _in_run(leaf, loop, level, first, variable, env)
        for inner in reversed(loops[level + 1 :]):
            nest = _around(inner, nest)
        nest = _around(loop, nest, variable, end - first)
        for outer in reversed(loops[:level]):
            nest = _around(outer, nest)
        nests.append(_cut(nest, config))
    return tirx.SeqStmt(nests)


def _is_step_or_load(leaf: tirx.Stmt, config: DeviceConfig) -> bool:
    if isinstance(leaf, BufferStore):
        return config.memories.is_of_operands(leaf.buffer.scope())
    if not isinstance(leaf, tirx.Evaluate):
        return False
    return step_call(leaf.value, kind_of(config).intrinsics(config)) is not None


def _first_to_cut(
    loops: list[tirx.For], leaf: tirx.Stmt, env: dict[Var, Linear]
) -> tuple[int, list[int]]:
    """The outermost loop that is to be cut, and the first iterations of its runs; of one where
    there is none."""
    forms = [linear(index, env) for index in _indices(leaf)]
    for level, loop in enumerate(loops):
        uneven = [form for form in forms if not form.is_linear_in(level)]
        if not uneven:
            continue
        if isinstance(leaf, BufferStore) and loop.loop_var.same_as(leaf.indices[-1]):
            continue  # columns of a row
        runs = _runs([_values(form, loop, level) for form in uneven])
        if len(runs) > 1:
            return level, runs
    return 0, [0]


def _indices(leaf: tirx.Stmt) -> list[tirx.Expr]:
    """The indices of all that a step or a load touches."""
    indices: list[tirx.Expr] = []
    tvm_ffi.structural_walk(leaf, (TensorLoad, lambda load: indices.extend(load.indices[:])))
    return indices


def _values(form: Linear, loop: tirx.For, level: int) -> list[Linear]:
    """What an index is in each iteration of the loop of a number."""
    start = int(loop.min.value)
    return [form.substitute({level: Linear(start + i)}) for i in range(int(loop.extent.value))]


def _runs(values: list[list[Linear]]) -> list[int]:
    """The first iterations of the runs of a loop along which indices, of which the values in each
    iteration are given, advance by numbers: of one, where they do or where that does not help."""
    steps = [
        [b - a for a, b in zip(*pair, strict=True)] for pair in pairwise(zip(*values, strict=True))
    ]
    if not all(form.is_const for step in steps for form in step):
        return [0]
    runs = [0]
    for end in range(2, len(steps) + 1):
        # The first step of a run is free.
        if end - runs[-1] > 1 and steps[end - 1] != steps[end - 2]:
            runs.append(end)
    return runs


def _in_run(
    leaf: tirx.Stmt,
    loop: tirx.For,
    level: int,
    first: int,
    variable: Var,
    env: dict[Var, Linear],
) -> tirx.Stmt:
    """The step or load in a run of iterations that begins at ``first``, by another variable, which
    starts at 0."""
    begin = tirx.IntImm(variable.ty.dtype, int(loop.min.value) + first)
    shifted = variable + begin

    def index_in_run(index: tirx.Expr) -> tirx.Expr:
        form = linear(index, env)
        if form.is_linear_in(level):
            return replaced(index, loop.loop_var, shifted)
        values = _values(form, loop, level)
        slope = (values[first + 1] - values[first]).const if first + 1 < len(values) else 0
        return replaced(index, loop.loop_var, begin) + variable * slope

    def load_in_run(load: TensorLoad) -> TensorLoad:
        return load.source[tuple(index_in_run(index) for index in load.indices)]

    moved = tvm_ffi.structural_map(leaf, ((TensorLoad, load_in_run),))
    return replaced(moved, loop.loop_var, shifted)


def _around(
    loop: tirx.For, body: tirx.Stmt, variable: Var | None = None, extent: int | None = None
) -> tirx.For:
    """A loop around something else, with a variable, starting at 0, and an extent of its own."""
    start, count = loop.min, loop.extent
    if variable is not None:
        start, count = (tirx.IntImm(variable.ty.dtype, n) for n in (0, extent))
    variable = loop.loop_var if variable is None else variable
    return tirx.For(variable, start, count, loop.kind, body, None, dict(loop.annotations))
