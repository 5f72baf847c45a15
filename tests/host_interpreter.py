"""What the host executes in a program's loops, by running them with registers that hold values.

An addition at the end of a loop's body is counted where a register has to change to hold what the
next iteration needs, so increments are never computed; and every register is checked to hold the
right value wherever it is used. Operands are sums of steps; registers are enough.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from mean_branches import mean_branches
from program_evaluator import evaluate

from npu_target.program import (
    BOOLEAN_OPS,
    Command,
    Expr,
    Loop,
    Node,
    Op,
    Operand,
    Program,
    const,
)

_WORD = 2**64
# Of a loop beside others that has what it needs made before it.
MANY_COMMANDS = 128
# Of operations that take more than one: a choice is a branch around a move, a word of a table is
# loaded from the address of the table plus eight times the entry.
INSTRUCTIONS = {Op.MIN: 2, Op.MAX: 2, Op.SELECT: 2, Op.TABLE: 3}
Steps = tuple[tuple["Scope", int], ...]
Item = int  # id of a command, or of the loop that a body holds directly


@dataclass(eq=False)
class Scope:
    """A loop that is one in the code, or a condition."""

    node: Loop
    parent: Scope | None
    is_loop: bool
    is_fixed: bool
    is_counted: bool = False
    runs: bool = False
    inner: list[Scope] = field(default_factory=list)
    commands: int = 0  # directly in it

    @property
    def issued(self) -> int:
        """Commands of the loop each time."""
        each = self.commands + sum(scope.issued for scope in self.inner)
        return each * (self.node.extent.value if self.is_fixed else 1)

    @property
    def loops(self) -> list[Scope]:
        """Inside, with none between."""
        found = [[scope] if scope.is_loop else scope.loops for scope in self.inner]
        return [loop for loops in found for loop in loops]

    @property
    def is_section(self) -> bool:
        """Whether what its code needs is made before it, in the loop around."""
        around = [scope for scope in self.path[:-1] if scope.is_loop]
        return (
            self.is_loop
            and bool(around)
            and len(around[-1].loops) > 1
            and self.issued >= MANY_COMMANDS
        )

    @property
    def path(self) -> list[Scope]:
        return [*(self.parent.path if self.parent else ()), self]


@dataclass(eq=False)
class Family:
    """Operands that run alike, from the first scope of `segment` to the last, their home."""

    steps: Steps
    # Offset, node, item of the home's body that it is or is in, whether that always uses it; the
    # scopes around the node.
    uses: list[tuple[int, Item, Item, bool, list[Scope]]] = field(default_factory=list)
    register: int = 0

    @cached_property
    def segment(self) -> list[Scope]:
        """When all scopes are known."""
        home, moving = self.steps[-1][0], self.steps[0][0]
        above = home.path
        starts = [i for i, scope in enumerate(above) if not scope.is_fixed]
        starts += [i for i in range(above.index(moving) + 1) if above[i].is_section]
        return above[max(starts, default=0) :]

    def place(self, offset: int) -> Item:
        """What is before all uses of an offset: in the home, or in conditions of it."""
        home = self.segment[-1]
        _, node, _, _, first = next(use for use in self.uses if use[0] == offset)
        others = [use[4] for use in self.uses if use[0] == offset]
        at = first.index(home) + 1
        while at < len(first) and not first[at].is_loop:
            if any(path[: at + 1] != first[: at + 1] for path in others):
                break
            at += 1
        return id(first[at].node) if at < len(first) else node

    def value(self, variables: Mapping[int, int]) -> int:
        moved = sum(by * variables.get(scope.node.loop_id, 0) for scope, by in self.steps)
        return (self.uses[0][0] + moved) % _WORD

    @property
    def offsets(self) -> list[int]:
        return list(dict.fromkeys(offset for offset, *_ in self.uses))

    @property
    def is_one_register(self) -> bool:
        """Whether one register can go from value to value within an iteration."""
        if len(self.offsets) == 1:
            return True
        by_item: dict[Item, set[int]] = defaultdict(set)
        for offset, _, item, *_ in self.uses:
            by_item[item].add(offset)
        changes = [a[0] != b[0] for a, b in zip(self.uses, self.uses[1:], strict=False)]
        return (
            all(certain for *_, certain, _ in self.uses)
            and all(len(offsets) == 1 for offsets in by_item.values())
            and sum(changes) == len(self.offsets) - 1
        )


class HostInterpreter:
    def __init__(self, program: Program) -> None:
        self.scope_of: dict[int, Scope] = {}  # by id of the loop node
        self.families: dict[tuple[Scope, int | None, Steps], Family] = {}
        self.extra: Counter[Item] = Counter()
        self.operations: set[tuple[Expr, Scope | None]] = set()
        # Constants by the outermost loop, each with the sections around its uses.
        self.constants: dict[tuple[Scope, int], list[list[Scope]]] = defaultdict(list)
        self.has_expressions = False
        self.instructions = 0
        self.in_loop = 0
        self._enter(program.body, None, {})
        self.has_sections = any(scope.is_section for scope in self.scope_of.values())
        self._begin_all()
        self._make_constants()
        self._run(program.body, None, {})

    # ---- before it runs ------------------------------------------------------------------

    def _enter(self, nodes: Sequence[Node], around: Scope | None, slots: dict[int, Scope]) -> None:
        run: list[Expr] = []  # conditions with nothing but commands between
        for node in nodes:
            if isinstance(node, Command):
                for operand in (node.rs1, node.rs2):
                    self._operand(operand, around, slots, id(node))
                if around:
                    around.commands += 1
            elif isinstance(node, Loop):
                extent = node.extent
                if extent.op is Op.CONST and extent.value <= 1:
                    if extent.value == 1:
                        self._enter(node.body, around, slots)
                    continue
                is_loop = extent.op not in BOOLEAN_OPS
                if not is_loop:
                    run.append(extent)
                    extents = {
                        loop_id: scope.node.extent.value
                        for loop_id, scope in slots.items()
                        if scope.is_fixed and scope.is_loop
                    }
                    self.extra[id(node)] += mean_branches(run, extents)
                    self.extra[id(node)] -= mean_branches(run[:-1], extents)
                    self._condition(extent, around, slots, id(node))
                elif extent.op is not Op.CONST:
                    self._expression(extent, around, slots, id(node))
                scope = Scope(node, around, is_loop, extent.op is Op.CONST)
                self.scope_of[id(node)] = scope
                self.has_expressions |= extent.op is not Op.CONST
                if around:
                    around.inner.append(scope)
                inner = {**slots, node.loop_id: scope} if is_loop else slots
                self._enter(node.body, scope, inner)
                if is_loop or any(map(_is_loop, _flat(node.body))):
                    run = []

    def _operand(
        self, operand: Operand, around: Scope | None, slots: Mapping[int, Scope], item: Item
    ) -> None:
        total: Counter[int] = Counter()
        for loop_id, by in operand.steps:
            total[loop_id] += by
        steps = {slots[loop_id]: by % _WORD for loop_id, by in total.items() if loop_id in slots}
        self._use(operand.base, operand.address, steps, around, item)

    def _use(
        self,
        base: int,
        address: int | None,
        steps: Mapping[Scope, int],
        around: Scope | None,
        node: Item,
    ) -> None:
        path = around.path if around else []
        running = tuple((scope, steps[scope]) for scope in path if steps.get(scope))
        if not running:
            if path and base:
                self.constants[path[0], base].append(path)
            return
        home = running[-1][0]
        inside = path[path.index(home) + 1 :]
        item = id(inside[0].node) if inside else node
        certain = all(scope.is_fixed for scope in inside)
        found = self.families.get((home, address, running))
        if found is None:
            found = self.families[home, address, running] = Family(running)
        found.uses.append((base, node, item, certain, path))

    def _begin_all(self) -> None:
        """Inner ones first: where they begin is a use of what runs outside."""
        done: set[tuple[Scope, int | None, Steps]] = set()
        while left := [key for key in self.families if key not in done]:
            key = max(left, key=lambda key: len(key[0].path))
            done.add(key)
            home, address, steps = key
            family = self.families[key]
            order = {id(node): place for place, node in enumerate(_flat(home.node.body))}
            family.uses.sort(key=lambda use: order[use[1]])
            seen = {family.uses[0][0]}
            for offset, *_ in family.uses:
                if offset not in seen:
                    seen.add(offset)
                    self.extra[family.place(offset)] += 1
            for scope in family.segment:
                scope.runs = scope.runs or scope in dict(steps)
            outermost = family.segment[0]
            if outermost.is_fixed and outermost.is_section:
                self.extra[id(outermost.node)] += 1  # made anew
            elif not outermost.is_fixed:
                self.extra[id(outermost.node)] += 1  # a copy
                outer = {scope: by for scope, by in steps if scope not in family.segment}
                item = id(outermost.node)
                self._use(family.uses[0][0], address, outer, outermost.parent, item)

    def _make_constants(self) -> None:
        """One that only a section needs is an instruction before that: it is small."""
        for paths in self.constants.values():
            shared = [scope for scope in paths[0] if all(scope in path for path in paths)]
            sections = [scope for scope in shared if scope.is_section]
            if sections:
                self.extra[id(sections[-1].node)] += 1

    def _condition(
        self, expr: Expr, around: Scope | None, slots: dict[int, Scope], item: Item
    ) -> None:
        """What is compared; a comparison is part of its branch."""
        if expr.op is Op.EQ and expr.args[0].op in BOOLEAN_OPS and expr.args[1] == const(0):
            self._condition(expr.args[0], around, slots, item)
            return
        if expr.op in (Op.AND, Op.OR):
            for arg in expr.args:
                self._condition(arg, around, slots, item)
            return
        for arg in expr.args if expr.op in BOOLEAN_OPS else (expr,):
            self._expression(arg, around, slots, item)

    def _expression(
        self, expr: Expr, around: Scope | None, slots: dict[int, Scope], item: Item
    ) -> Scope | None:
        if expr.op is Op.VAR:
            scope = slots.get(expr.value)
            if scope is not None:
                scope.is_counted = True
            return scope
        scopes = [self._expression(arg, around, slots, item) for arg in expr.args]
        path = around.path if around else []
        scope = max(
            scopes, key=lambda scope: -1 if scope is None else path.index(scope), default=None
        )
        if expr.args and (expr, scope) not in self.operations:
            self.operations.add((expr, scope))
            inside = path[path.index(scope) + 1 :] if scope else path
            self.extra[id(inside[0].node) if inside else item] += INSTRUCTIONS.get(expr.op, 1)
        return scope

    # ---- running -------------------------------------------------------------------------

    def _count(self, instructions: int) -> None:
        if self.in_loop:
            self.instructions += instructions

    def _run(self, nodes: Sequence[Node], around: Scope | None, variables: dict[int, int]) -> None:
        for node in nodes:
            if isinstance(node, Command):
                self._count(1 + self.extra[id(node)])
            elif isinstance(node, Loop):
                self._loop(node, around, variables)

    def _loop(self, node: Loop, around: Scope | None, variables: dict[int, int]) -> None:
        extent = evaluate(node.extent, variables)
        scope = self.scope_of.get(id(node))
        if scope is None:
            if extent == 1:
                self._run(node.body, around, {**variables, node.loop_id: 0})
            return
        has_limit = scope.is_loop and (scope.is_counted or not scope.is_fixed)
        entering = 2 if has_limit else 1 if scope.is_loop else 0
        self._count(entering + self.extra[id(node)])
        mine = [family for family in self.families.values() if scope in family.segment]
        variables = {**variables, node.loop_id: 0}
        for family in mine:
            if family.segment[0] is scope:
                family.register = family.value(variables)
        if not scope.is_loop:
            if extent > 0:
                self._run(node.body, scope, variables)
            return
        self.in_loop += 1
        for iteration in range(extent):
            inside = {**variables, node.loop_id: iteration}
            at_home = [family for family in mine if family.segment[-1] is scope]
            for family in at_home:
                assert family.register == family.value(inside)
            self._run(node.body, scope, inside)
            for family in at_home:
                if family.is_one_register:
                    family.register += family.offsets[-1] - family.offsets[0]
            for family in mine:
                needed = family.value({**variables, node.loop_id: iteration + 1})
                self._count(family.register % _WORD != needed)
                family.register = needed
            self._count(1 if scope.runs and not has_limit else 2)
        self.in_loop -= 1


def _is_loop(node: Node) -> bool:
    """Whether it is one in the code."""
    if not isinstance(node, Loop) or node.extent.op in BOOLEAN_OPS:
        return False
    return node.extent.op is not Op.CONST or node.extent.value > 1


def _flat(nodes: Sequence[Node]) -> list[Node]:
    """All nodes of a body in the order of the program."""
    found: list[Node] = []
    for node in nodes:
        found.append(node)
        if isinstance(node, Loop):
            found += _flat(node.body)
    return found
