"""Parts of a program that repeat themselves, made loops.

Neighbours that are alike but for the numbers that they begin with become one loop; what stands
beside a loop and is what its body would be in one more iteration goes into it.  Less code is
fetched, and more of it fits the host's instruction cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from ..device.command_set import CommandSet
from ..device.commands import RowBits
from ..program import Command, Expr, Loop, Node, Op, Operand, const, nodes_of, wrap_int64
from .shapes import Shape, Shapes
from .substitute import Replacement

# Instructions in whose time the host fetches the code of a command (two instructions or three, 49
# cycles for 16).
_FETCHED = 6
# A long part in a loop needs more registers than there are: what it begins with is made at once and
# kept in memory, and the device waits for it.  So many nodes are long, in a program of so few.
_LONG = 32
_SHORT_PROGRAM = 500


def rolled(nodes: tuple[Node, ...], commands: CommandSet) -> tuple[Node, ...]:
    """The same commands, with loops for what repeats itself."""
    every = list(nodes_of(nodes))
    used = {node.loop_id for node in every if isinstance(node, Loop)}
    free = (loop_id for loop_id in count(1) if loop_id not in used)
    roller = _Roller(free, commands, takes_long=len(every) > _SHORT_PROGRAM)
    return tuple([shape.node for shape in roller.body(nodes, 1)])


class _Roller:
    def __init__(self, free_ids: Iterator[int], commands: CommandSet, takes_long: bool) -> None:
        self.free_ids = free_ids
        self.takes_long = takes_long
        self.shapes = Shapes(commands)

    def body(self, nodes: Sequence[Node], times: int) -> list[Shape]:
        """A body that is run so many times."""
        found: list[Shape] = []
        for node in _taken_in(nodes):
            if isinstance(node, Command):
                found.append(self.shapes.command(node))
                continue
            extent = node.extent.value if node.extent.op is Op.CONST else 1
            self.shapes.enter(node)
            parts = self.body(node.body, times * extent)
            self.shapes.leave(node)
            loop = Loop(node.loop_id, node.extent, tuple([part.node for part in parts]))
            found.append(self.shapes.loop(loop, parts))
        while len(found) > 1:
            best = self.best(found, times)
            if best is None:
                break
            at, period, repeats = best
            loop = self.looped(found[at : at + 2 * period], repeats)
            found[at : at + period * repeats] = [self.shapes.of(loop)]
        return found

    def best(self, shapes: Sequence[Shape], times: int) -> tuple[int, int, int] | None:
        """Where repeats begin, of how many nodes each, and how many: those that save most."""
        numbers = [shape.number for shape in shapes]
        behind: dict[int, int] = {}  # the next one of each number
        periods = set()
        for at in range(len(numbers) - 1, -1, -1):
            if numbers[at] in behind:
                periods.add(behind[numbers[at]] - at)
            behind[numbers[at]] = at
        best, most = None, 0
        for period in sorted(periods):
            for at in range(len(numbers) - 2 * period + 1):
                middle = at + period
                if numbers[at] != numbers[middle]:
                    continue
                if period > 1 and numbers[at:middle] != numbers[middle : middle + period]:
                    continue
                repeats = _repeats(shapes, numbers, at, period)
                if repeats > 1:
                    saved = self.saved(shapes[at : at + 2 * period], repeats, times)
                    if saved > most:
                        best, most = (at, period, repeats), saved
        return best

    def saved(self, shapes: Sequence[Shape], repeats: int, times: int) -> int:
        """Instructions in whose time the code is fetched that a loop leaves out, less those that
        it takes: shapes are those of two iterations."""
        period = len(shapes) // 2
        size = sum([shape.size for shape in shapes[:period]])
        if size > _LONG and not self.takes_long:
            return 0
        pairs = zip(shapes[:period], shapes[period:], strict=True)
        running = {delta for pair in pairs for delta in _deltas(*pair)}
        running.discard(0)
        return _FETCHED * (repeats - 1) * size - times * repeats * (2 + len(running))

    def looped(self, shapes: Sequence[Shape], repeats: int) -> Loop:
        """A loop of which shapes are the first two iterations."""
        loop_id = next(self.free_ids)
        period = len(shapes) // 2
        body = [
            _running(shape.node, loop_id, iter(_deltas(shape, behind)))
            for shape, behind in zip(shapes[:period], shapes[period:], strict=True)
        ]
        return Loop(loop_id, const(repeats), tuple(body))


def _repeats(shapes: Sequence[Shape], numbers: Sequence[int], at: int, period: int) -> int:
    """How often nodes alike come from one on, ``period`` each time, their operands advancing
    evenly.  The first two are alike."""
    deltas = [_deltas(shapes[i], shapes[i + period]) for i in range(at, at + period)]
    if not all(map(_may_run, shapes[at : at + period], deltas)):
        return 1
    repeats = 2
    while True:
        start, end = at + (repeats - 1) * period, at + repeats * period
        if numbers[start:end] != numbers[end : end + period]:
            return repeats
        for i in range(period):
            if _deltas(shapes[start + i], shapes[end + i]) != deltas[i]:
                return repeats
        repeats += 1


def _deltas(shape: Shape, other: Shape) -> list[int]:
    return [b - a for a, b in zip(shape.bases, other.bases, strict=True)]


def _may_run(shape: Shape, deltas: Sequence[int]) -> bool:
    """Whether operands may advance by so much: rows and addresses may, settings and what is said
    of rows besides their number may not."""
    for base, delta, bits in zip(shape.bases, deltas, shape.rows, strict=True):
        if delta and bits is not None and _rest(base, bits) != _rest(base + delta, bits):
            return False
    return True


def _rest(word: int, bits: RowBits) -> int:
    """A word without the numbers of its rows, which may be negative before loops add to them."""
    for low, width in bits:
        number = (word >> low) % (1 << width)
        if number >> (width - 1):
            number -= 1 << width
        word -= number << low
    return word


def _running(node: Node, loop_id: int, deltas: Iterator[int]) -> Node:
    if isinstance(node, Command):
        rs1 = node.rs1.running(loop_id, wrap_int64(next(deltas)))
        return Command(node.funct, rs1, node.rs2.running(loop_id, wrap_int64(next(deltas))))
    body = tuple([_running(part, loop_id, deltas) for part in node.body])
    return Loop(node.loop_id, node.extent, body)


# ---- one more iteration ------------------------------------------------------------------------


def _taken_in(nodes: Sequence[Node]) -> Sequence[Node]:
    """Nodes, those that are one more iteration of a loop beside them inside of that loop."""
    found = list(nodes)
    at = 0
    while at < len(found):
        node = found[at]
        at += 1
        if isinstance(node, Command) or node.extent.op is not Op.CONST:
            continue
        size, extent = len(node.body), node.extent.value
        if not size or extent < 1:
            continue
        if _is_iteration(node, extent, found[at : at + size]):
            at -= 1
            found[at : at + 1 + size] = [Loop(node.loop_id, const(extent + 1), node.body)]
        elif at > size and _is_iteration(node, -1, found[at - 1 - size : at - 1]):
            body = Replacement(node.loop_id, 1, -1).nodes(node.body)
            at -= 1 + size
            found[at : at + 1 + size] = [Loop(node.loop_id, const(extent + 1), body)]
    return found


def _is_iteration(loop: Loop, index: int, nodes: Sequence[Node]) -> bool:
    """Whether nodes are what a loop's body is for a value of its variable."""
    if len(nodes) != len(loop.body):
        return False
    iteration = Replacement(loop.loop_id, 0, index)
    pairs = zip(loop.body, nodes, strict=True)
    return all(_is_same(mine, other, iteration, {}) for mine, other in pairs)


def _is_same(mine: Node, other: Node, iteration: Replacement, ids: dict[int, int]) -> bool:
    """Whether a node of an iteration is another one, with loops of other names (``ids``)."""
    if isinstance(mine, Command):
        return (
            isinstance(other, Command)
            and mine.funct == other.funct
            and _is_same_word(mine.rs1, other.rs1, iteration, ids)
            and _is_same_word(mine.rs2, other.rs2, iteration, ids)
        )
    if isinstance(other, Command) or len(mine.body) != len(other.body):
        return False
    if not _is_same_expression(mine.extent, other.extent, iteration, ids):
        return False
    inner = {**ids, mine.loop_id: other.loop_id}
    pairs = zip(mine.body, other.body, strict=True)
    return all(_is_same(part, another, iteration, inner) for part, another in pairs)


def _is_same_word(
    mine: Operand, other: Operand, iteration: Replacement, ids: dict[int, int]
) -> bool:
    if mine.address != other.address:
        return False
    mine = iteration.operand(mine)
    if mine.base != other.base or len(mine.general) != len(other.general):
        return False
    steps = [(ids.get(loop_id, loop_id), by) for loop_id, by in mine.steps]
    if steps != list(other.steps) and sorted(steps) != sorted(other.steps):
        return False
    return all(
        by == another and _is_renamed(expr, other_expr, ids)
        for (by, expr), (another, other_expr) in zip(mine.general, other.general, strict=True)
    )


def _is_same_expression(
    mine: Expr, other: Expr, iteration: Replacement, ids: dict[int, int]
) -> bool:
    if mine.op is Op.CONST:
        return other.op is Op.CONST and mine.value == other.value
    return _is_renamed(iteration.expression(mine), other, ids)


def _is_renamed(mine: Expr, other: Expr, ids: dict[int, int]) -> bool:
    if mine.op is not other.op or len(mine.args) != len(other.args):
        return False
    if mine.op is Op.VAR:
        return ids.get(mine.value, mine.value) == other.value
    if mine.op is Op.CONST:
        return mine.value == other.value
    return all(_is_renamed(a, b, ids) for a, b in zip(mine.args, other.args, strict=True))
