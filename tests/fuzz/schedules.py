"""Schedules by the moves of someone who writes them by hand, drawn at random.

A move that TVM refuses is left out; what the moves leave is a valid schedule of the definition.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from fuzz.definitions import CONFIG, Definition
from tvm import tirx
from tvm.s_tir import Schedule
from tvm.tirx import PrimFunc, Var

from npu_target.intrin import WIDE, gemm_intrinsic

SCRATCHPAD, ACCUMULATOR = (memory.scope for memory in CONFIG.memories.all)


class Moves:
    """One schedule of a definition; `made` says what was done."""

    def __init__(self, definition: Definition, seed: int) -> None:
        self.definition = definition
        self.draw = random.Random(seed)
        self.sch = Schedule(definition.func, seed=seed + 1)
        self.made: list[str] = []

    def attempt(self, text: str, move: Callable[[], Any]) -> Any:
        """The move's result; None where TVM refuses it."""
        try:
            result = move()
        except (tvm.s_tir.schedule.ScheduleError, tvm.error.InternalError, ValueError):
            return None
        self.made.append(text)
        return result

    def function(self) -> PrimFunc | None:
        """The scheduled function; None if TVM refuses even what every schedule needs."""
        if not self.schedule():
            return None
        func = self.sch.mod["main"]
        if self.draw.random() < 0.4:
            func = in_parts(func, self.draw)
            self.made.append("loops in parts")
        return func

    def schedule(self) -> bool:
        """Draw the moves; False if TVM refuses what every schedule needs."""
        d, sch, draw = self.definition, self.sch, self.draw
        mac = sch.get_sblock("mac")
        caches = self.caches(mac)
        loops = dict(zip(d.roles, sch.get_loops(mac), strict=True))
        outer, inner = self.split(loops)
        order, row = self.order(outer, inner, loops)
        reductions = [name for name in order if name.split("_o")[0] in d.reductions]
        first_reduction = min([order.index(name) for name in reductions], default=len(order))
        spatial = [loops[name] for name in order[:first_reduction]]
        changing = self.place(caches, [loops[name] for name in order], spatial)
        init_at = draw.choice([*spatial, loops[[*order, "row"][first_reduction]]])
        sch.decompose_reduction(mac, init_at)
        intrinsic = gemm_intrinsic(CONFIG, d.rows, d.row_step)
        if self.attempt("tensorize", lambda: sch.tensorize(row, intrinsic) or True) is None:
            return False
        self.pipeline(changing, caches)
        if draw.random() < 0.15:
            name = draw.choice(order)
            self.attempt(f"unroll {name}", lambda: sch.unroll(loops[name]) or True)
        return True

    def caches(self, mac: Any) -> dict[str, Any]:
        """The blocks of copies, in the scopes of the device."""
        d, sch = self.definition, self.sch
        if d.loads:
            for load in d.loads:
                sch.set_scope(sch.get_sblock(load), 0, SCRATCHPAD)
            sch.set_scope(mac, 0, ACCUMULATOR)
            names = [*d.loads, d.store]
            return {name: sch.get_sblock(name) for name in names}
        self.made.append("cache_read, cache_write")
        return {
            "load_a": sch.cache_read(mac, 0, SCRATCHPAD),
            "load_b": sch.cache_read(mac, 1, SCRATCHPAD),
            "store": sch.cache_write(mac, 0, ACCUMULATOR),
        }

    def split(self, loops: dict[str, Any]) -> tuple[list[str], list[str]]:
        """Loops over tiles, and inside them; `loops` gets them by name."""
        sch, draw = self.sch, self.draw
        loops["pixels"], loops["row"] = sch.split(loops["pixels"], [None, self.definition.rows])
        outer, inner = [], []
        for name in self.definition.roles:
            if name in ("lane", "depth_lane"):
                continue
            extent = int(sch.get(loops[name]).extent)
            divisors = [n for n in range(1, extent + 1) if extent % n == 0]
            factor = draw.choice(divisors if draw.random() < 0.97 else range(1, extent + 1))
            if draw.random() < 0.25:
                inner.append(name)
                continue
            loops[f"{name}_o"], loops[name] = sch.split(loops[name], [None, factor])
            self.made.append(f"split {name} {factor}")
            outer.append(f"{name}_o")
            inner.append(name)
        return outer, inner

    def order(
        self, outer: list[str], inner: list[str], loops: dict[str, Any]
    ) -> tuple[list[str], Any]:
        """The loops from the outside in, but for those of the intrinsic."""
        sch, draw, reductions = self.sch, self.draw, self.definition.reductions
        draw.shuffle(outer)
        draw.shuffle(inner)
        if draw.random() < 0.8:  # spatial tiles first
            outer.sort(key=lambda name: name.removesuffix("_o") in reductions)
        order = [*outer, *inner]
        if draw.random() < 0.2:
            draw.shuffle(order)
        intrinsic = [loops[name] for name in ("row", "lane", "depth_lane")]
        sch.reorder(*[loops[name] for name in order], *intrinsic)
        if len(order) > 2 and draw.random() < 0.3:
            at = draw.randrange(min(2, len(order) - 1))
            same = {name.removesuffix("_o") in reductions for name in order[at : at + 2]}
            if len(same) == 1:
                loops[order[at]] = sch.fuse(loops[order[at]], loops.pop(order[at + 1]))
                order.pop(at + 1)
                self.made.append(f"fuse at {at}")
        self.made.append("order " + " ".join(order))
        return order, loops["row"]

    def place(self, caches: dict[str, Any], loops: list[Any], spatial: list[Any]) -> Any:
        """Put the copies into loops; the loop that the first load is in."""
        sch, draw = self.sch, self.draw
        changing = None
        places = min(len(loops), 4)
        for name in ("load_a", "load_b"):
            at = draw.randrange(-1, places)
            if at < 0:
                self.own_loops(caches[name], 0)
                continue
            units = draw.random() < 0.7
            if self.attempt(
                f"{name} at {at}",
                lambda name=name, at=at, units=units: (
                    sch.compute_at(caches[name], loops[at], preserve_unit_loops=units) or True
                ),
            ):
                changing = loops[at] if changing is None or draw.random() < 0.5 else changing
                self.own_loops(caches[name], at + 1)
        if spatial and draw.random() < 0.85:
            where = draw.choice(spatial)
            self.attempt(
                "store in a loop",
                lambda: sch.reverse_compute_at(caches["store"], where) or True,
            )
        return changing

    def own_loops(self, copy: Any, depth: int) -> None:
        """Now and then another order of a copy's loops inside of so many, or other ones."""
        sch, draw = self.sch, self.draw
        *own, columns = sch.get_loops(copy)[depth:]
        if not own or draw.random() < 0.7:
            return
        name = str(sch.get(copy).name_hint)
        move = draw.choice(["reorder", "fuse", "split"])
        if move == "reorder":
            draw.shuffle(own)
            self.attempt(f"reorder {name}", lambda: sch.reorder(*own, columns) or True)
        elif move == "fuse" and len(own) > 1:
            self.attempt(f"fuse {name}", lambda: sch.fuse(*own[:2]))
        else:
            loop = draw.choice(own)
            size = draw.randint(1, int(sch.get(loop).extent))
            self.attempt(f"split {name} {size}", lambda: sch.split(loop, [None, size]))

    def pipeline(self, changing: Any, caches: dict[str, Any]) -> None:
        """Overlap the statements of a loop, as the templates do."""
        sch, draw = self.sch, self.draw
        if changing is None or draw.random() < 0.4:
            return
        body = sch.get(changing).body
        if not isinstance(body, tvm.tirx.SeqStmt):
            return
        names = [_blocks_in(part) for part in body.seq]
        ahead = {str(sch.get(caches[load]).name_hint) for load in ("load_a", "load_b")}
        if draw.random() < 0.5:
            ahead.add("mac_init")
        # Stages are at most as many as iterations; more are refused.
        most = int(sch.get(changing).extent) if draw.random() < 0.97 else 3
        steps = min(most, draw.choice([1, 1, 1, 2]))
        stored = min(most, steps + draw.choice([0, 0, 0, 1]))
        store = [str(sch.get(caches["store"]).name_hint)]
        stages = [
            0 if ahead.issuperset(held) else stored if held == store else steps for held in names
        ]
        placed = list(range(len(stages)))
        if draw.random() < 0.3:
            # Those of different stages are of different iterations, and may come in any order.
            by_stage = draw.sample(range(stored + 1), stored + 1)
            placed.sort(key=lambda at: by_stage[stages[at]])
        order = [placed.index(at) for at in range(len(stages))]
        sch.annotate(changing, "software_pipeline_stage", stages)
        sch.annotate(changing, "software_pipeline_order", order)
        self.made.append(f"pipeline {stages} {order} of {names}")
        if self.definition.loads and draw.random() < 0.2:
            self.wide(caches["store"])

    def wide(self, store: Any) -> None:
        """Blocks of sums side by side: marked on the outermost loop that holds nothing else."""
        for loop in self.sch.get_loops(store):
            if _blocks_in(self.sch.get(loop).body) == [str(self.sch.get(store).name_hint)]:
                self.sch.annotate(loop, WIDE, 1)
                self.made.append("wide")
                return


def _blocks_in(stmt: Any) -> list[str]:
    """The names of the blocks in a statement."""
    found: list[str] = []
    tvm_ffi.structural_walk(
        stmt, (tvm.s_tir.SBlock, lambda block: found.append(str(block.name_hint)))
    )
    return found


def in_parts(func: PrimFunc, draw: random.Random) -> PrimFunc:
    """The function with loops cut into two, one after the other, and neighbours of different tiles
    changed over. Statements of a pipelined loop stay what they are."""
    whole: set[Var] = set()

    def visit(loop: tirx.For) -> None:
        is_pipelined = "software_pipeline_stage" in loop.annotations
        if is_pipelined and isinstance(loop.body, tirx.SeqStmt):
            whole.update(part.loop_var for part in loop.body.seq if isinstance(part, tirx.For))

    tvm_ffi.structural_walk(func.body, (tirx.For, visit))

    def cut(loop: tirx.For) -> tirx.Stmt:
        if not isinstance(loop.extent, tirx.IntImm):  # a block's that others need in part
            return loop
        extent, variable = int(loop.extent), loop.loop_var
        is_inner = not isinstance(loop.body, (tirx.For, tirx.SeqStmt))  # columns, or one step
        if is_inner or loop.annotations or variable in whole or extent < 2:
            return loop
        if draw.random() > 0.2:
            return loop
        first = draw.randint(1, extent - 1)
        rest = Var(f"{variable.name}_rest", "int32")
        body = _with_fresh_names(_replaced(loop.body, variable, rest + first))
        return tirx.SeqStmt(
            [
                tirx.For(variable, 0, first, loop.kind, loop.body),
                tirx.For(rest, 0, extent - first, loop.kind, body),
            ]
        )

    def change(sequence: tirx.SeqStmt) -> tirx.Stmt:
        parts = list(sequence.seq)
        if any(isinstance(part, tirx.For) and part.loop_var in whole for part in parts):
            return sequence
        for i in range(len(parts) - 1):
            one, other = parts[i : i + 2]
            if not _buffers_in(one) & _buffers_in(other) and draw.random() < 0.4:
                parts[i : i + 2] = other, one
        return tirx.SeqStmt(parts)

    body = tvm_ffi.structural_map(func.body, ((tirx.For, cut), (tirx.SeqStmt, change)))
    return func.with_body(body)


def _replaced(stmt: tirx.Stmt, variable: Var, value: tirx.Expr) -> tirx.Stmt:
    def replace(other: Var) -> tirx.Expr:
        return value if other.same_as(variable) else other

    return tvm_ffi.structural_map(stmt, ((Var, replace),))


def _with_fresh_names(stmt: tirx.Stmt) -> tirx.Stmt:
    """A copy that may stand beside the statement: with loops and offsets of its own."""

    def fresh(loop: tirx.For) -> tirx.Stmt:
        variable = Var(loop.loop_var.name, "int32")
        body = _replaced(loop.body, loop.loop_var, variable)
        return tirx.For(
            variable, loop.min, loop.extent, loop.kind, body, annotations=dict(loop.annotations)
        )

    offsets: list[Var] = []  # that blocks of the array's step define
    tvm_ffi.structural_walk(
        stmt,
        (
            tvm.s_tir.SBlock,
            lambda block: offsets.extend(m.buffer.elem_offset for m in block.match_buffers),
        ),
    )
    for offset in offsets:
        stmt = _replaced(stmt, offset, Var(offset.name, "int32"))
    return tvm_ffi.structural_map(stmt, ((tirx.For, fresh),))


def _buffers_in(stmt: tirx.Stmt) -> set[str]:
    """The names of the buffers that the blocks of a statement read or write."""
    found: set[str] = set()

    def visit(block: tvm.s_tir.SBlock) -> None:
        found.update(region.source.name for region in [*block.reads, *block.writes])

    tvm_ffi.structural_walk(stmt, (tvm.s_tir.SBlock, visit))
    return found
