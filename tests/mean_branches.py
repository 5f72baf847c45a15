"""How many branches conditions take on average, by trying all values of their variables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from program_evaluator import evaluate

from npu_target.program import BOOLEAN_OPS, Expr, Op, const

Condition = tuple[Any, Any, Any]


def mean_branches(run: Sequence[Expr], extents: Mapping[int, int]) -> int:
    """Of conditions that follow each other, over all that their variables may be: a comparison is
    a branch where what is known of these leaves both open. ``extents``: of the loops around that
    have a fixed one, by the ids of their variables."""
    unknown: list[object] = []  # a loop's variable, or another condition, which holds or not
    domains: list[list[int]] = []

    def number_of(key: object, domain: list[int]) -> int:
        if key not in unknown:
            unknown.append(key)
            domains.append(domain)
        return unknown.index(key)

    def prepare(expr: Expr) -> Condition:
        if expr.op in (Op.AND, Op.OR):
            return expr.op, prepare(expr.args[0]), prepare(expr.args[1])
        if expr.op is Op.EQ and expr.args[0].op in BOOLEAN_OPS and expr.args[1] == const(0):
            return Op.EQ, prepare(expr.args[0]), None
        if expr.op in BOOLEAN_OPS and {arg.op for arg in expr.args} == {Op.VAR, Op.CONST}:
            variable = next(arg.value for arg in expr.args if arg.op is Op.VAR)
            if variable in extents:
                number = number_of(variable, list(range(-1, extents[variable] + 1)))
                values = [evaluate(expr, {variable: value}) != 0 for value in domains[number]]
                return number, values, None
        return number_of(expr, [0, 1]), [False, True], None

    conditions = [prepare(expr) for expr in run]
    asked, turns = Fraction(0), 0
    for turn in itertools.product(*(range(len(domain)) for domain in domains)):
        if any(
            not isinstance(key, Expr) and place in (0, len(domain) - 1)
            for key, domain, place in zip(unknown, domains, turn, strict=True)
        ):
            continue  # beyond the loop's ends
        turns += 1
        left = [set(range(len(domain))) for domain in domains]

        def decide(condition: Condition, turn: tuple[int, ...], left: list[set[int]]) -> bool:
            nonlocal asked
            op, first, second = condition
            if op in (Op.AND, Op.OR):
                holds = decide(first, turn, left)
                return holds if holds == (op is Op.OR) else decide(second, turn, left)
            if op is Op.EQ:
                return not decide(first, turn, left)
            asked += len({first[place] for place in left[op]}) > 1
            left[op] = {place for place in left[op] if first[place] == first[turn[op]]}
            return first[turn[op]]

        for condition in conditions:
            decide(condition, turn, left)
    return math.floor(asked / turns + Fraction(1, 2)) if turns else 0
