"""The statements of a kernel in the making: loops, commands, and the lines around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..nodes import Command, Loop


@dataclass(eq=False)
class Name:
    """A variable of the C code, or a number; known once all that uses it is."""

    text: str = ""
    same_as: Name | None = None

    @property
    def is_number(self) -> bool:
        return self.text[:1] in tuple("-0123456789")

    def __str__(self) -> str:
        return str(self.same_as) if self.same_as else self.text


Line = tuple["str | Name", ...]  # parts of one statement, joined when it is printed


@dataclass(eq=False, kw_only=True)
class Item:
    """A command, a loop or a condition, where it stands; the same node may stand at two places."""

    scope: Scope | None  # that it is directly in
    order: int
    constants: list[Line] = field(default_factory=list)  # lines before it, in this order
    expressions: list[Line] = field(default_factory=list)
    values: list[Line] = field(default_factory=list)
    ends: list[Line] = field(default_factory=list)

    @property
    def before(self) -> list[Line]:
        return self.constants + self.expressions + self.values + self.ends


@dataclass(eq=False, kw_only=True)
class CommandItem(Item):
    node: Command
    words: list[Name] = field(default_factory=list)


@dataclass(eq=False, kw_only=True)
class Scope(Item):
    """A loop that is one in the code, or a condition. The body of a loop of one iteration stands
    where the loop does."""

    node: Loop
    extent: int  # 0: known when it runs
    is_loop: bool
    items: list[Item] = field(default_factory=list)
    bottom: list[Line] = field(default_factory=list)  # lines at the end of the body
    limit: Name = field(default_factory=Name)  # of an extent that is known when it runs
    counter: str = ""  # the loop's variable, where an expression uses it
    running: list[tuple[int, Name]] = field(default_factory=list)  # how far registers go
    condition: Line = ()
    section: Scope | None = None  # the innermost one that it is in: see `sections`

    @property
    def depth(self) -> int:
        return 1 + (self.scope.depth if self.scope else 0)

    @property
    def is_fixed(self) -> bool:
        return self.is_loop and self.extent != 0

    @property
    def outermost(self) -> Scope:
        return self.scope.outermost if self.scope else self


def directly_in(home: Scope | None, item: Item) -> Item:
    """The item directly in `home` that `item` is or is inside of."""
    while item.scope is not home:
        assert item.scope is not None
        item = item.scope
    return item


def all_items(items: list[Item]) -> Iterator[Item]:
    """In the order of the program."""
    for item in items:
        yield item
        if isinstance(item, Scope):
            yield from all_items(item.items)
