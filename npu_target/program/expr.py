"""Integer expressions over loop variables, as the host core evaluates them: int64, wrapping.

Expressions are immutable, compare by structure and are cheap to build: constructors fold
constants on the way, and a hash costs the same however large the expression is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import lru_cache

from ..errors import UserError

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1
MAX_LOOP_ID = 2**32 - 1
_MAX_REPR_DEPTH = 12


class ProgramError(UserError, ValueError):
    """A program that cannot be built, read or expanded; the text says where and why."""


class Op(IntEnum):
    """What an expression does; the numbers are those of the program file."""

    CONST = 0
    VAR = 1
    ADD = 2
    SUB = 3
    MUL = 4
    FLOOR_DIV = 5
    FLOOR_MOD = 6
    MIN = 7
    MAX = 8
    LT = 9
    LE = 10
    EQ = 11
    AND = 12
    OR = 13
    SELECT = 14
    TABLE = 15


# Results are 0 or 1.
BOOLEAN_OPS = frozenset({Op.LT, Op.LE, Op.EQ, Op.AND, Op.OR})


def wrap_int64(value: int) -> int:
    """`value` modulo 2**64, as a signed number."""
    if INT64_MIN <= value <= INT64_MAX:
        return value
    return ((value - INT64_MIN) & (2**64 - 1)) + INT64_MIN


class Expr:
    """One node: `value` is the number of a CONST or the loop id of a VAR, else `args` counts.

    Build with `const`, `var`, `+ - * // %` and the functions below. AND and OR take anything but
    0 for true. All arguments of a SELECT are evaluated. Those of a TABLE are an index and
    constants. Do not assign to the fields.
    """

    __slots__ = ("_hash", "args", "depth", "op", "value")

    def __init__(self, op: Op, value: int = 0, args: tuple[Expr, ...] = ()) -> None:
        self.op = op
        self.value = value
        self.args = args
        self.depth: int
        self._hash: int
        if len(args) == 2:  # as most have, of those with any
            a, b = args
            self.depth = 1 + (a.depth if a.depth > b.depth else b.depth)
            self._hash = hash((op, a._hash, b._hash))
        else:
            self.depth = 1 + max([arg.depth for arg in args], default=0)
            self._hash = hash((op, value, *[arg._hash for arg in args]))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Expr):
            return NotImplemented
        if not self.args:
            return self.op is other.op and self.value == other.value
        return self._hash == other._hash and _is_same_graph(self, other)

    @property
    def is_const(self) -> bool:
        return self.op is Op.CONST

    def __add__(self, other: ExprLike) -> Expr:
        return add(self, as_expr(other))

    def __radd__(self, other: ExprLike) -> Expr:
        return add(as_expr(other), self)

    def __sub__(self, other: ExprLike) -> Expr:
        return sub(self, as_expr(other))

    def __rsub__(self, other: ExprLike) -> Expr:
        return sub(as_expr(other), self)

    def __mul__(self, other: ExprLike) -> Expr:
        return mul(self, as_expr(other))

    def __rmul__(self, other: ExprLike) -> Expr:
        return mul(as_expr(other), self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return floor_div(self, as_expr(other))

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return floor_div(as_expr(other), self)

    def __rmod__(self, other: ExprLike) -> Expr:
        return floor_mod(as_expr(other), self)

    def __mod__(self, other: ExprLike) -> Expr:
        return floor_mod(self, as_expr(other))

    def __neg__(self) -> Expr:
        return mul(self, const(-1))

    def __repr__(self) -> str:
        if self.op is Op.CONST:
            return f"const({self.value})"
        if self.op is Op.VAR:
            return f"var({self.value})"
        if self.depth > _MAX_REPR_DEPTH:
            return f"{self.op.name.lower()}(...)"
        return f"{self.op.name.lower()}({', '.join(map(repr, self.args))})"


def _is_same_graph(a: Expr, b: Expr) -> bool:
    """Structural equality that looks at a pair of nodes once, however often both are shared."""
    pairs = [(a, b)]
    seen = set()
    while pairs:
        a, b = pairs.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        if a._hash != b._hash or a.op is not b.op or a.value != b.value:
            return False
        seen.add((id(a), id(b)))
        pairs.extend(zip(a.args, b.args, strict=True))
    return True


ExprLike = Expr | int


@lru_cache(maxsize=1 << 14)
def const(value: int) -> Expr:
    """A number. Raises ProgramError outside int64."""
    if not INT64_MIN <= value <= INT64_MAX:
        raise ProgramError(f"constant {value}: needs an int64")
    return Expr(Op.CONST, int(value))


@lru_cache(maxsize=1 << 12)
def var(loop_id: int) -> Expr:
    """The variable of the loop with this id."""
    if not 0 <= loop_id <= MAX_LOOP_ID:
        raise ProgramError(f"loop id {loop_id}: needs 0 to {MAX_LOOP_ID}")
    return Expr(Op.VAR, int(loop_id))


def as_expr(value: ExprLike) -> Expr:
    return value if isinstance(value, Expr) else const(value)


def _floor_div(a: int, b: int) -> int:
    if b == 0:
        raise ProgramError(f"{a} // 0: division by zero")
    return a // b


def _floor_mod(a: int, b: int) -> int:
    if b == 0:
        raise ProgramError(f"{a} % 0: division by zero")
    return a % b


_FOLD: dict[Op, Callable[[int, int], int]] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.FLOOR_DIV: _floor_div,
    Op.FLOOR_MOD: _floor_mod,
    Op.MIN: min,
    Op.MAX: max,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.EQ: lambda a, b: a == b,
    Op.AND: lambda a, b: a != 0 and b != 0,
    Op.OR: lambda a, b: a != 0 or b != 0,
}


def _folded(op: Op, a: Expr, b: Expr) -> Expr | None:
    """The constant that `op` gives on two constants, None for anything else."""
    if a.op is Op.CONST and b.op is Op.CONST:
        return Expr(Op.CONST, wrap_int64(int(_FOLD[op](a.value, b.value))))
    return None


def _commuted(op: Op, a: ExprLike, b: ExprLike) -> Expr | tuple[Expr, Expr]:
    """A folded constant, or the arguments with a constant on the right.

    (x op c) op d becomes x op (c op d): right for the operators that associate.
    """
    a, b = as_expr(a), as_expr(b)
    folded = _folded(op, a, b)
    if folded is not None:
        return folded
    if a.op is Op.CONST:
        a, b = b, a
    if b.op is Op.CONST and a.op is op and a.args[1].op is Op.CONST:
        combined = _folded(op, a.args[1], b)
        assert combined is not None
        return a.args[0], combined
    return a, b


def add(a: ExprLike, b: ExprLike) -> Expr:
    found = _commuted(Op.ADD, a, b)
    if isinstance(found, Expr):
        return found
    if found[1] == ZERO:
        return found[0]
    return Expr(Op.ADD, args=found)


def sub(a: ExprLike, b: ExprLike) -> Expr:
    a, b = as_expr(a), as_expr(b)
    if b.op is Op.CONST:
        return add(a, Expr(Op.CONST, wrap_int64(-b.value)))
    if a == b:
        return ZERO
    return Expr(Op.SUB, args=(a, b))


def mul(a: ExprLike, b: ExprLike) -> Expr:
    found = _commuted(Op.MUL, a, b)
    if isinstance(found, Expr):
        return found
    if found[1] == ZERO:
        return ZERO
    if found[1] == ONE:
        return found[0]
    return Expr(Op.MUL, args=found)


def floor_div(a: ExprLike, b: ExprLike) -> Expr:
    """a // b, rounded toward minus infinity."""
    a, b = as_expr(a), as_expr(b)
    if b == ZERO:
        raise ProgramError(f"{a!r} // 0: division by zero")
    if b == ONE:
        return a
    return _folded(Op.FLOOR_DIV, a, b) or Expr(Op.FLOOR_DIV, args=(a, b))


def floor_mod(a: ExprLike, b: ExprLike) -> Expr:
    """a - b * (a // b): the sign of b."""
    a, b = as_expr(a), as_expr(b)
    if b == ZERO:
        raise ProgramError(f"{a!r} % 0: division by zero")
    if b == ONE:
        return ZERO
    return _folded(Op.FLOOR_MOD, a, b) or Expr(Op.FLOOR_MOD, args=(a, b))


def _extreme(op: Op, a: ExprLike, b: ExprLike) -> Expr:
    found = _commuted(op, a, b)
    if isinstance(found, Expr):
        return found
    if found[0] == found[1]:
        return found[0]
    return Expr(op, args=found)


def minimum(a: ExprLike, b: ExprLike) -> Expr:
    return _extreme(Op.MIN, a, b)


def maximum(a: ExprLike, b: ExprLike) -> Expr:
    return _extreme(Op.MAX, a, b)


def _compared(op: Op, a: ExprLike, b: ExprLike, when_equal: bool) -> Expr:
    a, b = as_expr(a), as_expr(b)
    if a == b:
        return ONE if when_equal else ZERO
    return _folded(op, a, b) or Expr(op, args=(a, b))


def lt(a: ExprLike, b: ExprLike) -> Expr:
    return _compared(Op.LT, a, b, when_equal=False)


def le(a: ExprLike, b: ExprLike) -> Expr:
    return _compared(Op.LE, a, b, when_equal=True)


def eq(a: ExprLike, b: ExprLike) -> Expr:
    return _compared(Op.EQ, a, b, when_equal=True)


def _logical(op: Op, a: ExprLike, b: ExprLike) -> Expr:
    a, b = as_expr(a), as_expr(b)
    folded = _folded(op, a, b)
    if folded is not None:
        return folded
    if a.op is Op.CONST:
        a, b = b, a
    if b.op is Op.CONST:
        decides = (b.value != 0) is (op is Op.OR)
        if decides:
            return ONE if op is Op.OR else ZERO
        if a.op in BOOLEAN_OPS:
            return a
    if a == b and a.op in BOOLEAN_OPS:
        return a
    return Expr(op, args=(a, b))


def logical_and(a: ExprLike, b: ExprLike) -> Expr:
    return _logical(Op.AND, a, b)


def logical_or(a: ExprLike, b: ExprLike) -> Expr:
    return _logical(Op.OR, a, b)


def logical_not(a: ExprLike) -> Expr:
    return eq(a, ZERO)


def select(condition: ExprLike, a: ExprLike, b: ExprLike) -> Expr:
    """`a` where the condition is not 0, else `b`."""
    condition, a, b = as_expr(condition), as_expr(a), as_expr(b)
    if condition.op is Op.CONST:
        return a if condition.value else b
    if a == b:
        return a
    return Expr(Op.SELECT, args=(condition, a, b))


def table(index: ExprLike, words: Sequence[int]) -> Expr:
    """``words[index]``. An index that is none of the table's is an error wherever it is evaluated,
    and the host may do so where conditions leave the result unused."""
    index = as_expr(index)
    if not words:
        raise ProgramError("a table of no words")
    if index.is_const and 0 <= index.value < len(words):
        return const(words[index.value])
    if len(set(words)) == 1:
        return const(words[0])
    return Expr(Op.TABLE, args=(index, *map(const, words)))


ZERO = const(0)
ONE = const(1)
