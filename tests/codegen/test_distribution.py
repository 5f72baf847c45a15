"""Where copies go between two nests of steps, whatever they touch: no two that touch the same rows
change their order, and none comes before the steps that it needs, or behind those that need it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from npu_target.codegen.dependences import Touched, conflict
from npu_target.codegen.waiting import (
    Open,
    Waiting,
    closed,
    deferred,
    distributed,
    in_order,
    relieved,
    shared,
)
from npu_target.passes.linear import Linear


class Tile:
    """Of rows of its own."""

    def overlaps(self, other: Tile) -> bool:
        return False


TILES = [Tile() for _ in range(4)]


@dataclass
class Nest:
    """What a copy's nest is asked for."""

    is_load: bool = True
    is_static: bool = True
    is_halved: bool = False


@dataclass
class Operation:
    is_divisible: bool = True


def touching(tiles: set[int]) -> list[Touched]:
    return [Touched(TILES[tile], Linear()) for tile in sorted(tiles)]  # type: ignore[arg-type]


def copy(tiles: set[int], by_steps: bool = False, **nest: bool) -> Waiting:
    operation: Any = Operation()
    found: Any = Nest(**nest)
    return Waiting(found, {}, touching(tiles), lambda: [operation], by_steps=by_steps)


def steps(tiles: set[int], **copies: Any) -> Open:
    nest: Any = object()
    return Open(nest, {}, touching(tiles), **copies)


SOME = st.sets(st.integers(0, len(TILES) - 1), max_size=2)
COPIES = st.builds(
    copy,
    st.sets(st.integers(0, len(TILES) - 1), min_size=1, max_size=2),
    st.booleans(),
    is_load=st.booleans(),
    is_static=st.booleans(),
)
LISTS = st.lists(COPIES, max_size=6)
# Of two copies that touch the same rows, where the first may be and where then the second.  What
# goes between the same steps as another one has no order with it but in the list of both.
WITHIN = {
    ("free", "free"), ("free", "held"), ("free", "last"), ("held", "held"), ("held", "last"),
    ("after", "last"), ("last", "last"), ("due", "due"), ("due", "held"),
}  # fmt: skip


def places_of(opened: Open, nest: str) -> dict[int, tuple[str, str, int]]:
    """By the identity of a copy: the nest of steps, what of it, and the how manieth there."""
    return {
        id(waiting): (nest, name, number)
        for name in ("due", "free", "after", "held", "last")
        for number, waiting in enumerate(getattr(opened, name))
    }


def check_order(copies: list[Waiting], places: dict[int, tuple[str, str, int]]) -> None:
    for first, second in itertools.combinations(copies, 2):
        if not conflict(first.touched, second.touched):
            continue
        (nest, name, number), (later, later_name, later_number) = (
            places[id(each)] for each in (first, second)
        )
        if nest == later:
            assert (name, later_name) in WITHIN
            assert name != later_name or number < later_number
        else:
            assert (nest, later) == ("before", "behind")


def rest(before: Open, waiting: Waiting) -> list[Any]:
    raise AssertionError("nothing is placed")


@given(SOME, SOME, LISTS)
def test_between_two_nests_nothing_changes_its_order(touched, touched_next, copies):
    before, first, behind = distributed(steps(touched), copies, steps(touched_next), rest)
    assert before is not None and not first
    places = places_of(before, "before") | places_of(behind, "behind")
    # Of those that both need a part goes between the steps before, and the rest precedes the next.
    parted = [each for each in copies if each in before.reloads]
    rests = [each for each in behind.due if each.beside is not None]
    assert {id(each.nest) for each in rests} == {id(each.nest) for each in parted}
    for one, other in itertools.combinations(copies, 2):
        if {id(one), id(other)} & {id(each) for each in parted} and conflict(
            one.touched, other.touched
        ):
            # Only before the next steps there is an order among them.
            (first,) = [n for n, each in enumerate(behind.due) if each.nest is one.nest]
            (second,) = [n for n, each in enumerate(behind.due) if each.nest is other.nest]
            assert first < second
    whole = [each for each in copies if each not in parted]
    assert {id(each) for each in whole} <= places.keys()
    assert len(places) == len(whole) + len(rests)
    check_order(whole, places)
    for each in whole:
        nest, name, _ = places[id(each)]
        if conflict(each.touched, before.touched):
            assert nest == "behind" or name in ("after", "last")
        if conflict(each.touched, behind.touched):
            assert nest == "before" or name == "due"


@given(SOME, LISTS)
def test_before_the_first_nest_nothing_changes_its_order(touched, copies):
    before, first, behind = distributed(None, copies, steps(touched), rest)
    assert before is None and behind.is_first
    places = {id(each): ("before", "last", number) for number, each in enumerate(first)}
    places |= places_of(behind, "behind")
    assert len(places) == len(copies)
    check_order(copies, places)
    for each in copies:
        if conflict(each.touched, behind.touched):
            assert places[id(each)][:2] in (("before", "last"), ("behind", "due"))


@given(SOME, LISTS, LISTS)
def test_behind_the_last_nest_nothing_changes_its_order(touched, free, copies):
    free = [each for each in free if not conflict(each.touched, touching(touched))]
    opened = closed(steps(touched, free=tuple(free)), copies)
    places = places_of(opened, "before")
    assert len(places) == len(free) + len(copies)
    for first, second in itertools.product(free, copies):
        if conflict(first.touched, second.touched):
            assert places[id(second)][1] == "last"
    check_order(copies, places)
    for each in copies:
        if conflict(each.touched, opened.touched):
            assert places[id(each)][1] in ("after", "last")


CYCLES = 10.0


@given(st.lists(COPIES, max_size=5), SOME, st.integers(1, 5), st.integers(1, 5))
def test_two_nests_share_copies_by_their_cycles(copies, touched, mine, others):
    first, second = steps(set(), free=tuple(copies)), steps(touched)
    cycles = {id(first): float(mine), id(second): float(others)}
    found, behind = shared(first, second, lambda each: cycles[id(each)], lambda _: CYCLES)
    assert [*found.free, *behind.free] == copies
    assert not any(conflict(each.touched, second.touched) for each in behind.free)
    share = len(copies) * mine / (mine + others)
    fewest = math.ceil(share - 1e-9)
    touching_it = [n for n, each in enumerate(copies) if conflict(each.touched, second.touched)]
    assert len(found.free) == max([fewest, *(n + 1 for n in touching_it)])


LOADS = st.builds(
    copy, st.sets(st.integers(0, len(TILES) - 1), min_size=1, max_size=2), is_load=st.booleans()
)


def check_moved(first: Open, second: Open, found: Open, behind: Open) -> list[Waiting]:
    """What was left to the second nest is what it needs, and what nothing else touches."""
    moved = [each for each in first.free if each not in found.free]
    assert list(found.free) == [each for each in first.free if each not in moved]
    assert list(behind.due) == [*moved, *second.due] and behind.took_over == bool(moved)
    for each in moved:
        assert each.nest.is_load and conflict(each.touched, second.touched)
        others = [*first.free, *first.after, *second.due]
        assert not any(conflict(each.touched, other.touched) for other in others if other != each)
    return moved


@given(st.lists(LOADS, max_size=5), LISTS, LISTS, SOME, st.booleans())
def test_loads_for_the_second_nest_are_left_to_it_where_the_first_loads_halves(
    free, after, due, touched, is_halved
):
    own = (copy(set(), is_halved=is_halved),)
    first = steps(set(), due=own, free=tuple(free), after=tuple(after))
    second = steps(touched, due=tuple(due))
    found, behind = deferred(first, second)
    moved = check_moved(first, second, found, behind)
    if not is_halved:
        assert not moved
        return
    for each in found.free:
        others = [other for other in (*free, *after, *due) if other is not each]
        is_needed = each.nest.is_load and conflict(each.touched, second.touched)
        assert not is_needed or each.conflicts(others)


@given(st.integers(0, 5), st.floats(-1, 60))
def test_no_more_is_left_to_the_second_nest_than_the_memory_is_late(loads, excess):
    """The last loads first, as they are needed last."""
    tiles = [Tile() for _ in range(loads)]
    free = [copy(set()) for _ in tiles]
    for each, tile in zip(free, tiles, strict=True):
        each.touched = [Touched(tile, Linear())]  # type: ignore[arg-type]
    first = steps(set(), free=tuple(free))
    second = steps(set())._replace(touched=[each.touched[0] for each in free])
    kept: list[Waiting] = []

    def parts(nest: Open, waiting: Waiting, most: float) -> tuple[Waiting, Waiting, float]:
        assert nest is second and most > 0
        kept.append(copy(set()))
        return kept[-1], waiting, CYCLES

    found, behind = relieved(first, second, excess, parts)
    moved = min(loads, max(0, math.ceil(excess / CYCLES)))
    assert list(behind.due) == free[loads - moved :] and behind.took_over == bool(moved)
    assert list(found.free) == [*free[: loads - moved], *reversed(kept)]


@given(LISTS, st.floats(1, 60))
def test_only_loads_that_nothing_follows_are_left_to_the_second_nest(free, excess):
    first, second = steps(set(), free=tuple(free)), steps({0, 1})
    found, _ = relieved(first, second, excess, lambda *_: (copy(set()), copy(set()), 1.0))
    for before, now in zip(free, found.free, strict=True):
        if now is not before:
            assert before.nest.is_load and conflict(before.touched, second.touched)
            assert not before.conflicts([other for other in free if other is not before])


@given(LISTS)
def test_copies_between_steps_say_whom_they_follow(copies):
    """Of more than two in a row that touch the same rows all come before the steps."""
    longest: list[int] = []
    for number, each in enumerate(copies):
        earlier = [longest[n] for n in range(number) if each.conflicts([copies[n]])]
        longest.append(1 + max(earlier, default=0))
    before, between = in_order(copies)
    if max(longest, default=0) > 2:
        assert (before, between) == (copies, [])
        return
    assert not before and len(between) == len(copies)
    for number, (each, found) in enumerate(zip(copies, between, strict=True)):
        assert found.operation is each.operations[0]
        assert found.touched is each.touched and not found.is_own
        assert found.first == any(each.conflicts([other]) for other in copies[number + 1 :])
        assert found.last == any(each.conflicts([other]) for other in copies[:number])
