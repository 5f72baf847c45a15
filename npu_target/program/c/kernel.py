"""A program's nodes as items with the words that their commands take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import count

from ...device.commands import WORD_MASK
from ..expr import BOOLEAN_OPS, ZERO, Expr, Op
from ..nodes import Command, Loop, Node
from ..operand import Operand
from ..program import Program
from .bounds import Bounds, bounds
from .constants import Constants, Known, fits_addition, number
from .lines import CommandItem, Item, Line, Name, Scope, all_items, directly_in
from .sections import find_sections
from .values import Term, Value, Values

_INFIX = {
    Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.EQ: "==", Op.AND: "&&", Op.OR: "||",
}  # fmt: skip
_FUNCTION = {
    Op.FLOOR_DIV: "npu_floor_div",
    Op.FLOOR_MOD: "npu_floor_mod",
    Op.MIN: "npu_min",
    Op.MAX: "npu_max",
    Op.LT: "npu_lt",
    Op.LE: "npu_le",
}
_NATURAL = {Op.FLOOR_DIV: "/", Op.FLOOR_MOD: "%"}  # of what is not negative


class Kernel:
    """`items` are the body, `arguments` those whose address is used, `tables` the names of arrays
    of words, which begin with ``prefix``."""

    def __init__(self, program: Program, prefix: str) -> None:
        self._prefix = prefix
        self._numbers: Counter[str] = Counter()
        self._order = count()
        registers = program.config.host_registers
        counts = len(program.places), len(program.args)
        self._constants = Constants(registers, *counts, self._fresh)
        self._values = Values(self._constants, self._fresh)
        self._made: dict[tuple[Expr, Scope | None], Name] = {}
        self.items: list[Item] = []
        self.tables: dict[tuple[Expr, ...], str] = {}
        self._append_all(program.body, None, {})
        find_sections(self.items)
        self._values.finish()
        for item in all_items(self.items):
            if isinstance(item, Scope) and item.is_loop:
                self._end(item)
        self._constants.make()
        self.arguments = sorted(self._constants.used_arguments)

    def _fresh(self, kind: str) -> str:
        self._numbers[kind] += 1
        return f"{kind}{self._numbers[kind]}"

    def _counter_of(self, scope: Scope) -> str:
        """The name of the loop's variable; loops beside each other may have the same one."""
        name = f"i{scope.node.loop_id}"
        self._numbers[name] += 1
        return name if self._numbers[name] == 1 else f"{name}_{self._numbers[name]}"

    # ---- the body ------------------------------------------------------------------------

    def _append_all(
        self, nodes: Iterable[Node], scope: Scope | None, loops: dict[int, Scope | None]
    ) -> None:
        for node in nodes:
            if isinstance(node, Command):
                self._append_command(node, scope, loops)
            else:
                self._append_loop(node, scope, loops)

    def _add(self, item: Item) -> None:
        (item.scope.items if item.scope else self.items).append(item)

    def _append_loop(self, node: Loop, scope: Scope | None, loops: dict[int, Scope | None]) -> None:
        extent = node.extent.value if node.extent.is_const else 0
        if node.extent.is_const and extent <= 1:
            if extent == 1:
                self._append_all(node.body, scope, {**loops, node.loop_id: None})
            return
        is_loop = node.extent.op not in BOOLEAN_OPS
        inner = Scope(
            scope=scope, order=next(self._order), node=node, extent=extent, is_loop=is_loop
        )
        self._add(inner)
        if not node.extent.is_const:
            inner.limit = self._expression(node.extent, inner, loops)[1]
        around = {**loops, node.loop_id: inner if is_loop else None}
        self._append_all(node.body, inner, around)

    def _append_command(
        self, node: Command, scope: Scope | None, loops: dict[int, Scope | None]
    ) -> None:
        item = CommandItem(scope=scope, order=next(self._order), node=node)
        self._add(item)
        item.words = [
            self._values.use(self._value(operand, item, loops), item)
            for operand in (node.rs1, node.rs2)
        ]

    def _value(self, operand: Operand, item: Item, loops: dict[int, Scope | None]) -> Value:
        increments: Counter[Scope] = Counter()
        for loop_id, increment in operand.steps:
            scope = loops[loop_id]
            if scope is not None:
                increments[scope] += increment
        steps = [(scope, by & WORD_MASK) for scope, by in increments.items() if by & WORD_MASK]
        steps.sort(key=lambda step: step[0].depth)
        base, terms = operand.base, []
        for coefficient, expr in operand.general:
            if expr.is_const:
                base += coefficient * expr.value
            elif coefficient & WORD_MASK:
                home, name = self._expression(expr, item, loops)
                if name.text != "0":  # the variable of a loop of one turn
                    terms.append(Term(home, coefficient & WORD_MASK, name))
        terms.sort(key=lambda term: -(term.scope.depth if term.scope else 0))
        address = self._constants.address_of(operand.address)
        return Value(Known(address, base & WORD_MASK), tuple(steps), tuple(terms))

    def _expression(
        self, expr: Expr, item: Item, loops: dict[int, Scope | None]
    ) -> tuple[Scope | None, Name]:
        """Made where the innermost loop stands whose variable it uses, once."""
        if expr.op is Op.CONST:
            return None, self._made.setdefault((expr, None), Name(number(expr.value)))
        if expr.op is Op.VAR:
            scope = loops[expr.value]
            if scope is None:
                return None, self._made.setdefault((ZERO, None), Name("0"))
            if not scope.counter:
                scope.counter = self._counter_of(scope)
            return scope, self._made.setdefault((expr, scope), Name(scope.counter))
        operands = expr.args[:1] if expr.op is Op.TABLE else expr.args
        found = [self._expression(argument, item, loops) for argument in operands]
        scopes = [scope for scope, _ in found if scope is not None]
        home = max(scopes, key=lambda scope: scope.depth, default=None)
        name = self._made.get((expr, home))
        if name is None:
            name = self._made[expr, home] = Name(self._fresh("t"))
            names = [argument for _, argument in found]
            if expr.op is Op.TABLE:
                text: Line = (self._table(expr.args[1:]), "[", *names, "]")
            else:
                text = _text(expr.op, names, self._is_natural(expr, loops))
            direct = directly_in(home, item)
            direct.expressions.append((f"const uint64_t {name} = ", *text, ";"))
        return home, name

    def _table(self, words: tuple[Expr, ...]) -> str:
        return self.tables.setdefault(words, f"{self._prefix}{len(self.tables)}")

    @staticmethod
    def _is_natural(expr: Expr, loops: dict[int, Scope | None]) -> bool:
        """Whether it is a division that needs no regard for signs."""
        if expr.op not in _NATURAL:
            return False

        def of_variable(loop_id: int) -> Bounds | None:
            scope = loops[loop_id]
            if scope is None:
                return 0, 0
            return (0, scope.extent - 1) if scope.is_fixed else None

        dividend, divisor = (bounds(argument, of_variable) for argument in expr.args)
        return dividend is not None and dividend[0] >= 0 and divisor is not None and divisor[0] > 0

    # ---- the ends of loops ---------------------------------------------------------------

    def _end(self, scope: Scope) -> None:
        """A register is compared with where it ends, or a counter."""
        limit = self._fresh("n")
        if scope.counter:
            end: Line = (scope.limit,)
            if scope.is_fixed:
                end = (f"NPU_WORD({scope.extent})",)
            scope.ends.append((f"uint64_t {scope.counter} = NPU_WORD(0);",))
            scope.ends.append((f"const uint64_t {limit} = ", *end, ";"))
            scope.condition = (f"++{scope.counter} != {limit}",)
        elif scope.running and scope.is_fixed:
            near = (end for end in scope.running if fits_addition(end[0]))
            distance, register = next(near, scope.running[0])
            added = self._constants.added(distance, scope)
            scope.ends.append((f"const uint64_t {limit} = npu_sum(", register, ", ", added, ");"))
            scope.condition = (register, f" != {limit}")
        else:
            count_from = f"NPU_WORD({scope.extent})" if scope.is_fixed else scope.limit
            scope.ends.append((f"uint64_t {limit} = ", count_from, ";"))
            scope.condition = (f"--{limit} != 0",)


def _text(op: Op, arguments: list[Name], is_natural: bool) -> Line:
    """One operation, `is_natural` if it divides what is not negative. Numbers are words like all
    else where C would take them for something less."""
    texts: list[str | Name] = [*arguments]
    if op in (Op.SELECT, Op.EQ) or all(name.is_number for name in arguments):
        texts = [f"(uint64_t){name}" if name.is_number else name for name in arguments]
    if op is Op.SELECT:
        return (texts[0], " ? ", texts[1], " : ", texts[2])
    if is_natural:
        return (texts[0], f" {_NATURAL[op]} ", texts[1])
    if op in _INFIX:
        return (texts[0], f" {_INFIX[op]} ", texts[1])
    return (_FUNCTION[op], "(", texts[0], ", ", texts[1], ")")
