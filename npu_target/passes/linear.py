"""Linear forms of index expressions: a constant, a coefficient per loop, and what is left.

A form's atoms are loop numbers (``int``) or :class:`Atom`, an expression that is not linear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from tvm import tirx
from tvm.tirx import Var

from .errors import CodegenError


class Atom(NamedTuple):
    """``op`` of two linear forms, where it does not reduce to a linear form."""

    op: str  # "floordiv", "floormod", "min" or "max"
    a: Linear
    b: Linear


Key = int | Atom
Item = tuple[Key, int]

_new = tuple.__new__  # of a `Linear`: its own takes twice as long, and there are many


class Linear(NamedTuple):
    """``const + sum(coefficient * atom)``; immutable, zero coefficients are never kept."""

    const: int = 0
    items: tuple[Item, ...] = ()

    @staticmethod
    def of(const: int, terms: Mapping[Key, int]) -> Linear:
        """A form from a mapping that may hold zeros."""
        for key in terms:
            if type(key) is Atom:
                const, terms = _rejoined(const, terms)
                break
        kept = [item for item in terms.items() if item[1]]
        if len(kept) == 2:
            first, second = kept
            if _name(first[0]) > _name(second[0]):
                return _new(Linear, (const, (second, first)))
        elif len(kept) > 2:
            kept.sort(key=_order)
        return _new(Linear, (const, tuple(kept)))

    @staticmethod
    def loop(loop_id: int) -> Linear:
        """The value of one loop's variable."""
        return _new(Linear, (0, ((loop_id, 1),)))

    @property
    def is_const(self) -> bool:
        """Whether no atom is left."""
        return not self.items

    def coefficient(self, loop_id: int) -> int:
        """What one more iteration of a loop adds (atoms that hold the loop aside)."""
        for key, value in self.items:
            if key == loop_id:
                return value
        return 0

    def depends_on(self, loop_id: int) -> bool:
        """Whether the loop's variable occurs, inside atoms too."""
        for key, _ in self.items:
            if key == loop_id:
                return True
            if type(key) is Atom and (key.a.depends_on(loop_id) or key.b.depends_on(loop_id)):
                return True
        return False

    def variables(self) -> set[int]:
        """The loops whose variables occur, inside atoms too."""
        found: set[int] = set()
        for key, _ in self.items:
            if type(key) is Atom:
                found |= key.a.variables() | key.b.variables()
            else:
                found.add(key)  # type: ignore[arg-type]
        return found

    def is_linear_in(self, loop_id: int) -> bool:
        """Whether each iteration of a loop adds the same: no atom holds its variable."""
        for key, _ in self.items:
            if type(key) is Atom and (key.a.depends_on(loop_id) or key.b.depends_on(loop_id)):
                return False
        return True

    def without(self, *loop_ids: int) -> Linear:
        """The form where these loops' variables are 0 (they must not occur inside atoms)."""
        return Linear(self.const, tuple([item for item in self.items if item[0] not in loop_ids]))

    def __add__(self, other: Linear | int) -> Linear:  # type: ignore[override]
        const, items = self
        if isinstance(other, int):
            return _new(Linear, (const + other, items))
        more, others = other
        return _joined(const + more, items, others, 1)

    def __sub__(self, other: Linear | int) -> Linear:
        const, items = self
        if isinstance(other, int):
            return _new(Linear, (const - other, items))
        less, others = other
        if items == others:
            return _new(Linear, (const - less, ()))
        return _joined(const - less, items, others, -1)

    def __mul__(self, factor: int) -> Linear:  # type: ignore[override]
        if factor == 1:
            return self
        if factor == 0:
            return Linear()
        const, items = self
        return _new(Linear, (const * factor, tuple([(k, v * factor) for k, v in items])))

    def text(self, names: Mapping[int, str]) -> str:
        """As a schedule would write it, with the names of its loops."""
        terms = []
        for key, factor in self.items:
            if isinstance(key, Atom):
                a, b = key.a.text(names), key.b.text(names)
                sign = {"floordiv": "//", "floormod": "%"}.get(key.op)
                name = f"({a}) {sign} {b}" if sign else f"{key.op}({a}, {b})"
            else:
                name = f"`{names.get(key, '?')}`"
            terms.append(name if factor == 1 else f"{factor} * {name}")
        if self.const or not terms:
            terms.append(str(self.const))
        return " + ".join(terms).replace("+ -", "- ")

    def substitute(self, values: Mapping[int, Linear]) -> Linear:
        """The form with loops replaced, inside atoms too."""
        items = self.items
        found = -1
        for index, (key, _) in enumerate(items):
            if type(key) is Atom or (key in values and found >= 0):
                return self._with_many(values)
            if key in values:
                found = index
        if found < 0:
            return self
        loop_id: int = items[found][0]  # type: ignore[assignment]
        return self.replaced(loop_id, values[loop_id])

    def replaced(self, loop_id: int, value: Linear) -> Linear:
        """The form with one loop replaced, inside atoms too."""
        const, items = self
        if items and type(items[-1][0]) is Atom:
            return self._with_many({loop_id: value})
        for at, (key, factor) in enumerate(items):
            if key == loop_id:
                more, others = value
                rest = items[:at] + items[at + 1 :]
                if not others:
                    return _new(Linear, (const + more * factor, rest))
                return _joined(const + more * factor, rest, others, factor)
        return self

    def advanced(self, loop_id: int, by: Linear) -> Linear:
        """The form where a loop is so many iterations further, inside atoms too."""
        const, items = self
        if items and type(items[-1][0]) is Atom:
            return self._with_many({loop_id: Linear.loop(loop_id) + by})
        for key, factor in items:
            if key == loop_id:
                more, others = by
                return _joined(const + more * factor, items, others, factor)
        return self

    def _with_many(self, values: Mapping[int, Linear]) -> Linear:
        """`substitute` where it replaces several loops, or some inside atoms."""
        const, items = self
        terms: dict[Key, int] = {}
        for key, value in items:
            if type(key) is Atom:
                b = key.b.substitute(values) if key.b.items else key.b
                new = combine(key.op, key.a.substitute(values), b)
            elif (known := values.get(key)) is not None:  # type: ignore[arg-type]
                new = known
            else:
                terms[key] = terms.get(key, 0) + value
                continue
            more, others = new
            const += more * value
            for inner, factor in others:
                terms[inner] = terms.get(inner, 0) + factor * value
        return Linear.of(const, terms)


def _joined(const: int, items: tuple[Item, ...], others: tuple[Item, ...], factor: int) -> Linear:
    """A constant, terms and so many times others."""
    if not others:
        return _new(Linear, (const, items))
    if not items:
        return _new(Linear, (const, tuple([(key, by * factor) for key, by in others])))
    if len(others) == 1 and type(items[-1][0]) is not Atom:
        ((key, by),) = others
        if type(key) is not Atom:  # a term more in its place
            name = _name(key)
            at = 0
            for mine, value in items:
                if mine == key:
                    value += by * factor
                    term = ((key, value),) if value else ()
                    return _new(Linear, (const, items[:at] + term + items[at + 1 :]))
                if _name(mine) > name:
                    break
                at += 1
            return _new(Linear, (const, (*items[:at], (key, by * factor), *items[at:])))
    terms = dict(items)
    for key, by in others:
        terms[key] = terms.get(key, 0) + by * factor
    return Linear.of(const, terms)


_name = lru_cache(maxsize=4096)(str)


@lru_cache(maxsize=4096)
def _order(item: Item) -> str:
    """Loops before atoms, whose names begin with a letter."""
    return _name(item[0])


def _rejoined(const: int, terms: Mapping[Key, int]) -> tuple[int, Mapping[Key, int]]:
    """The terms with ``d * (a // d) + a % d`` made ``a`` again."""
    for key, value in terms.items():
        if type(key) is not Atom or not value or key.op != "floormod" or not key.b.is_const:
            continue
        quotient = Atom("floordiv", key.a, key.b)
        if terms.get(quotient) != value * key.b.const:
            continue
        rest = {k: v for k, v in terms.items() if k not in (key, quotient)}
        for inner, factor in key.a.items:
            rest[inner] = rest.get(inner, 0) + factor * value
        return _rejoined(const + key.a.const * value, rest)
    return const, terms


def combine(op: str, a: Linear, b: Linear) -> Linear:
    """``op`` of two forms, reduced where a constant or divisibility allows."""
    if a.is_const and b.is_const:
        return Linear(_CONSTANT[op](a.const, b.const))
    if op in ("floordiv", "floormod") and b.is_const and b.const > 0:
        return _divide(op, a, b.const)
    difference = a - b
    if op in ("min", "max") and difference.is_const:
        return a if (difference.const < 0) == (op == "min") else b
    return Linear(0, ((Atom(op, a, b), 1),))


_CONSTANT: dict[str, Callable[[int, int], int]] = {
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "min": min,
    "max": max,
}


@lru_cache(maxsize=4096)  # copies of a loop's iterations have the same few
def _divide(op: str, a: Linear, divisor: int) -> Linear:
    """Split off what the divisor divides: ``(q * d + r) // d = q + r // d``."""
    quotient = Linear.of(
        a.const // divisor, {k: v // divisor for k, v in a.items if v % divisor == 0}
    )
    rest = Linear.of(a.const % divisor, {k: v for k, v in a.items if v % divisor})
    if rest.is_const:  # 0 <= rest < divisor
        return quotient if op == "floordiv" else rest
    atom = Linear(0, ((Atom(op, rest, Linear(divisor)), 1),))
    return quotient + atom if op == "floordiv" else atom


def linear(node: tirx.Expr, env: Mapping[Var, Linear]) -> Linear:
    """The linear form of an integer TensorIR expression whose variables are in ``env``.

    Raises
    ------
    CodegenError
        for an expression that is no sum, product by a constant, division, minimum or maximum.
    """
    kind = type(node)
    if kind is tirx.Var:
        try:
            return env[node]
        except KeyError:
            raise CodegenError(f"index {node} is no loop around it") from None
    if kind is tirx.IntImm:
        return Linear(int(node.value))
    if isinstance(node, int):
        return Linear(node)
    if kind is tirx.Cast:
        return linear(node.value, env)
    name = _BINARY.get(kind)
    if name is None:
        raise CodegenError(f"index expression {node} ({kind.__name__}) is not supported")
    a, b = linear(node.a, env), linear(node.b, env)
    if name == "add":
        return a + b
    if name == "sub":
        return a - b
    if name == "mul":
        if b.is_const:
            return a * b.const
        if a.is_const:
            return b * a.const
        raise CodegenError(f"index expression {node} multiplies two variables")
    return combine(name, a, b)


def all_linear(nodes: Sequence[tirx.Expr], env: Mapping[Var, Linear]) -> list[Linear]:
    """The linear forms of expressions.  Raises CodegenError as `linear` does."""
    # TVM's arrays take three times as long to give their elements one by one as in a slice.
    return [linear(node, env) for node in nodes[:]]


_BINARY = {
    tirx.Add: "add",
    tirx.Sub: "sub",
    tirx.Mul: "mul",
    tirx.FloorDiv: "floordiv",
    tirx.FloorMod: "floormod",
    tirx.Min: "min",
    tirx.Max: "max",
}


def constant(value: tirx.Expr) -> int:
    """The number that an expression is.  Raises CodegenError for any other."""
    if not isinstance(value, tirx.IntImm):
        raise CodegenError(f"loop bound or extent {value} is not a constant")
    return int(value.value)


def comparisons(node: tirx.Expr, env: Mapping[Var, Linear]) -> list[Linear]:
    """A conjunction of comparisons as forms that must all be >= 0.

    Raises
    ------
    CodegenError
        for anything but ``and`` of ``<``, ``<=``, ``>``, ``>=`` and ``==``.
    """
    if isinstance(node, tirx.And):
        return comparisons(node.a, env) + comparisons(node.b, env)
    if isinstance(node, (tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.EQ)):
        a, b = linear(node.a, env), linear(node.b, env)
        if isinstance(node, tirx.EQ):
            return [a - b, b - a]
        smaller, larger = (a, b) if isinstance(node, (tirx.LT, tirx.LE)) else (b, a)
        strict = isinstance(node, (tirx.LT, tirx.GT))
        return [larger - smaller - strict]
    raise CodegenError(f"condition {node} ({type(node).__name__}) is not supported")


def undivided(form: Linear) -> Linear:
    """An equivalent of ``form >= 0`` without its division, where it has a single one:
    ``r + e // d >= 0`` is ``d * r + e >= 0``, ``r - e // d >= 0`` is ``d * r + d - 1 - e >= 0``."""
    divisions = [
        (key, value)
        for key, value in form.items
        if isinstance(key, Atom) and key.op == "floordiv" and key.b.is_const
    ]
    if len(divisions) != 1 or abs(divisions[0][1]) != 1:
        return form
    atom, sign = divisions[0]
    assert isinstance(atom, Atom)
    divisor = atom.b.const
    rest = (form - Linear(0, ((atom, sign),))) * divisor
    return undivided(rest + atom.a if sign > 0 else rest - atom.a + (divisor - 1))
