"""Which of a program's words run in registers, where these begin, and what advances them.

Operands whose difference is a constant are a family: one register runs, the others are derived from
it by an addition. Where no value of it comes back within an iteration, one register goes from value
to value. A family's home is the innermost loop that it runs with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from ...device.commands import WORD_BITS, WORD_MASK
from .constants import Constants, Known, fits_addition, number
from .lines import Item, Line, Name, Scope, directly_in


@dataclass(frozen=True)
class Term:
    """Coefficient x an expression's variable, which is made in `scope`."""

    scope: Scope | None
    coefficient: int
    name: Name


@dataclass(frozen=True)
class Value:
    """An operand in terms of the loops around it."""

    base: Known
    steps: tuple[tuple[Scope, int], ...]  # outermost first, none 0
    terms: tuple[Term, ...]

    @property
    def home(self) -> Scope | None:
        scopes = [scope for scope, _ in self.steps]
        scopes += [term.scope for term in self.terms if term.scope is not None]
        return max(scopes, key=lambda scope: scope.depth, default=None)


@dataclass(eq=False)
class _Use:
    code: Item
    item: Item  # directly in the family's home, which it is or is in
    order: int
    offset: int
    is_conditional: bool
    name: Name


@dataclass(eq=False)
class _Family:
    value: Value  # of offset 0
    home: Scope
    uses: list[_Use] = field(default_factory=list)

    @property
    def offsets(self) -> list[int]:
        return list(dict.fromkeys(use.offset for use in self.uses))

    @property
    def is_one_register(self) -> bool:
        """Whether one register can go from value to value: none is used again after another, one
        command or inner loop uses one, and no use may be left out."""
        seen: set[int] = set()
        before: _Use | None = None
        for use in self.uses:
            if before is None or use.offset != before.offset:
                if use.offset in seen or (before is not None and use.item is before.item):
                    return False
                seen.add(use.offset)
            before = use
        return len(seen) == 1 or not any(use.is_conditional for use in self.uses)

    def uses_of(self, offset: int) -> list[_Use]:
        return [use for use in self.uses if use.offset == offset]


class Values:
    def __init__(self, constants: Constants, fresh: Callable[[str], str]) -> None:
        self.constants = constants
        self.fresh = fresh
        self.families: dict[tuple[object, ...], _Family] = {}
        # By depth of the home and number of terms: what a family begins from is further down.
        self.waiting: dict[tuple[int, int], list[_Family]] = defaultdict(list)

    def use(self, value: Value, item: Item) -> Name:
        """The word for code at `item`."""
        home = value.home
        if home is None:
            base = self.constants.of(value.base, item)
            if not value.terms:
                return base
            name = Name(self.fresh("r"))
            parts = _plus(base, [self._product(term, item) for term in value.terms])
            item.values.insert(0, (f"const uint64_t {name} = ", *parts, ";"))
            return name
        key = (home, value.base.address, value.steps, value.terms)
        family = self.families.get(key)
        if family is None:
            bare = Value(Known(value.base.address, 0), value.steps, value.terms)
            family = self.families[key] = _Family(bare, home)
            self.waiting[home.depth, len(value.terms)].append(family)
        is_conditional = False
        inner = item.scope
        while inner is not home:
            assert inner is not None
            is_conditional = is_conditional or not inner.is_fixed
            inner = inner.scope
        direct = directly_in(home, item)
        use = _Use(item, direct, item.order, value.base.offset, is_conditional, Name())
        family.uses.append(use)
        return use.name

    def finish(self) -> None:
        """When all uses are known: inner ones first, what they begin from is a use outside."""
        while self.waiting:
            for family in self.waiting.pop(max(self.waiting)):
                self._finish(family)

    def _finish(self, family: _Family) -> None:
        family.uses.sort(key=lambda use: use.order)
        first_depth = 1  # of the loops in which one register runs without beginning anew
        scope: Scope | None = family.home
        while scope is not None:
            if not scope.is_fixed:
                first_depth = max(first_depth, scope.depth)
            scope = scope.scope
        scopes = [term.scope.depth + 1 for term in family.value.terms if term.scope is not None]
        first_depth = max([first_depth, *scopes])
        # What a section alone moves begins anew before it.
        section = family.value.steps[0][0].section if family.value.steps else None
        if section is not None:
            first_depth = max(first_depth, section.depth)
        register = Name()
        moved = self._derive(family, register)
        self._advance(family, register, first_depth, moved)
        self._begin(family, register, first_depth)

    def _derive(self, family: _Family, register: Name) -> int:
        """The values after the first. Returns how far the register moves by that."""
        goes = family.is_one_register
        first = at = family.uses[0].offset
        names: dict[int, Name] = {first: register}
        for use in family.uses:
            if use.offset not in names:
                item = use.item if goes else _before_all(family.uses_of(use.offset), family.home)
                added = self.constants.added(use.offset - at, item)
                if goes:
                    names[use.offset] = register
                    line: Line = (register, " = npu_advance(", register, ", ", added, ");")
                    at = use.offset
                else:
                    name = names[use.offset] = Name(self.fresh("r"))
                    line = (f"const uint64_t {name} = npu_sum(", register, ", ", added, ");")
                item.values.insert(0, line)
        for use in family.uses:
            self._bind(use.name, names[use.offset])
        return at - first

    def _advance(self, family: _Family, register: Name, first_depth: int, moved: int) -> None:
        """Additions at the ends of the bodies around. The loop inside has advanced the register in
        its last iteration, too: there it stands when the body of the one outside ends."""
        steps = dict(family.value.steps)
        scope: Scope | None = family.home
        while scope is not None and scope.depth >= first_depth and scope.is_loop:
            increment = steps.get(scope, 0)
            delta = (increment - moved) & WORD_MASK
            if delta:
                if fits_addition(delta):
                    added = Name(number(delta))
                else:
                    added = self.constants.of(Known(-1, delta), _inside(scope))
                scope.bottom.append((register, " = npu_advance(", register, ", ", added, ");"))
            moved = increment * scope.extent
            if increment and _comes_to_its_end_once(increment, scope.extent):
                scope.running.append((moved & WORD_MASK, register))
            scope = scope.scope

    def _begin(self, family: _Family, register: Name, first_depth: int) -> None:
        """How the register gets the value that it runs on from, which may itself be running."""
        value, first = family.value, family.uses[0]
        outermost = family.home
        # Where it is made in each turn, if it does not run.
        item = _before_all(family.uses, family.home)
        scope: Scope | None = family.home
        while scope is not None and scope.depth >= first_depth:
            outermost = item = scope
            scope = scope.scope
        inner_steps = [by for by in value.steps if scope is None or by[0].depth > scope.depth]
        steps = tuple(by for by in value.steps if by not in inner_steps)
        start = Known(value.base.address, first.offset)
        is_straight = scope is None or outermost.section is outermost
        if is_straight and outermost.is_fixed and not steps and not value.terms:
            distance = dict(value.steps).get(outermost, 0) * outermost.extent
            self._bind(register, self.constants.running(start, distance, outermost))
            return
        register.text = self.fresh("r")
        now = [term for term in value.terms if scope is not None and term.scope is scope]
        rest = Value(start, steps, tuple(term for term in value.terms if term not in now))
        products = [self._product(term, item) for term in now]
        is_all = not steps and not rest.terms and start == Known(-1, 0)
        base = Name("0" if is_all else "")
        # What it begins from is made before: that line goes to the front later.
        item.values.insert(0, (f"uint64_t {register} = ", *_plus(base, products), ";"))
        if not is_all:
            self._bind(base, self.use(rest, item))

    def _product(self, term: Term, item: Item) -> Line:
        coefficient = term.coefficient & WORD_MASK
        if coefficient == 1:
            return (term.name,)
        if coefficient == WORD_MASK:
            return ("-", term.name)
        if coefficient & (coefficient - 1) == 0:
            return (term.name, f" << {coefficient.bit_length() - 1}")
        return (term.name, " * ", self.constants.of(Known(-1, coefficient), item))

    def _bind(self, name: Name, other: Name) -> None:
        """Call it as the other one, whose name may not be known yet."""
        name.same_as = other


def _before_all(uses: list[_Use], home: Scope) -> Item:
    """The innermost place before all of them, in their home or in conditions of it: what only a
    condition needs is made there."""
    scope = uses[0].code.scope
    for use in uses:
        other = use.code.scope
        while scope is not other:
            assert scope is not None and other is not None
            if scope.depth >= other.depth:
                scope = scope.scope
            else:
                other = other.scope
    around = scope
    while around is not home:
        assert around is not None
        if around.is_loop:
            scope = around.scope
        around = around.scope
    return directly_in(scope, uses[0].code)


def _inside(scope: Scope) -> Item:
    """A place in the scope's body."""
    return Item(scope=scope, order=scope.order)


def _comes_to_its_end_once(increment: int, extent: int) -> bool:
    """Whether a word that advances so often is only then where it ends."""
    increment &= WORD_MASK
    return extent <= 1 << (WORD_BITS - ((increment & -increment).bit_length() - 1))


def _plus(base: Name, products: list[Line]) -> Line:
    """Their sum."""
    if not products:
        return (base,)
    parts: list[str | Name] = []
    for product in products:
        if product[0] == "-":
            parts += [" - " if parts else "0 - ", *product[1:]]
        else:
            parts += [*([" + "] if parts else []), *_bracketed(product)]
    return tuple(parts) if base.text == "0" else ("npu_sum(", base, ", ", *parts, ")")


def _bracketed(product: Line) -> Line:
    return ("(", *product, ")") if len(product) > 1 else product
