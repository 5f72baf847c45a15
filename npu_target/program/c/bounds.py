"""Between which numbers an expression lies, where that is easily told."""

from __future__ import annotations

from collections.abc import Callable

from ..expr import INT64_MAX, INT64_MIN, Expr, Op

Bounds = tuple[int, int]  # the least and the most


def bounds(expr: Expr, of_variable: Callable[[int], Bounds | None]) -> Bounds | None:
    """Those of its value without wrapping; None if they are not told. `of_variable` tells those of
    a loop's variable, by its id."""
    found: dict[Expr, Bounds | None] = {}

    def of(node: Expr) -> Bounds | None:
        if node not in found:
            parts = [of(argument) for argument in node.args]
            known = [part for part in parts if part is not None]
            made = None
            if node.op is Op.VAR:
                made = of_variable(node.value)
            elif len(known) == len(parts):
                made = _of_operation(node, known)
            is_word = made is not None and INT64_MIN <= made[0] <= made[1] <= INT64_MAX
            found[node] = made if is_word else None
        return found[node]

    return of(expr)


def _of_operation(node: Expr, parts: list[Bounds]) -> Bounds | None:
    if node.op is Op.CONST:
        return node.value, node.value
    if len(parts) != 2:
        return None
    (least, most), (other_least, other_most) = parts
    if node.op is Op.ADD:
        return least + other_least, most + other_most
    if node.op is Op.SUB:
        return least - other_most, most - other_least
    if node.op is Op.MUL:
        products = [a * b for a in parts[0] for b in parts[1]]
        return min(products), max(products)
    if node.op is Op.MIN:
        return min(least, other_least), min(most, other_most)
    if node.op is Op.MAX:
        return max(least, other_least), max(most, other_most)
    if node.op is Op.FLOOR_DIV and other_least == other_most > 0:
        return least // other_least, most // other_least
    if node.op is Op.FLOOR_MOD and other_least > 0:
        return 0, other_most - 1
    return None
