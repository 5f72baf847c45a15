"""Which loops of a nest have what only their code needs made before them, not before the nest.

A *section* is a loop that issues many commands each time, so that a few more instructions before it
are none to speak of, and that is not all that the loop around it has: of registers there are not
enough for the words of all, and what is made for all before the first of them begins keeps the
device waiting.  The simulator's model of the host has the same (`device_api/sim/host_sections.cc`).
"""

from __future__ import annotations

from collections import Counter

from .lines import CommandItem, Item, Scope, all_items

_MANY_COMMANDS = 128


def find_sections(items: list[Item]) -> None:
    """Note of each scope the section that it is in."""
    scopes = [item for item in all_items(items) if isinstance(item, Scope)]
    commands: Counter[Scope] = Counter()
    loops: Counter[Scope] = Counter()  # directly inside, of conditions too
    for scope in reversed(scopes):
        commands[scope] += sum(isinstance(item, CommandItem) for item in scope.items)
        if scope.is_fixed:
            commands[scope] *= scope.extent
        if scope.scope is not None:
            commands[scope.scope] += commands[scope]
            loops[scope.scope] += 1 if scope.is_loop else loops[scope]
    for scope in scopes:
        around = scope.scope
        while around is not None and not around.is_loop:
            around = around.scope
        if around is None:
            continue
        is_section = scope.is_loop and loops[around] > 1 and commands[scope] >= _MANY_COMMANDS
        scope.section = scope if is_section else scope.scope and scope.scope.section


def section_of(item: Item) -> Scope | None:
    """The innermost section that an item is in; what is made before a section is its own."""
    if isinstance(item, Scope) and item.section is item:
        return item
    return item.scope and item.scope.section


def common_section(a: Scope | None, b: Scope | None) -> Scope | None:
    """The innermost section around two, which may be themselves."""
    while a is not b:
        if a is not None and (b is None or a.depth >= b.depth):
            a = a.scope and a.scope.section
        else:
            assert b is not None
            b = b.scope and b.scope.section
    return a
