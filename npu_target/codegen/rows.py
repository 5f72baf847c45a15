"""Sets of rows of a tile, as integers with a bit a row, from forms over loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping

from ..passes.linear import Atom, Linear

# Values of loops to go through at most where a form is no sum over them.
_MOST_VALUES = 1 << 12


def mask_of(rows: Iterable[int]) -> int:
    """The set of some rows."""
    mask = 0
    for row in rows:
        mask |= 1 << row
    return mask


def rows_over(form: Linear, ranges: Mapping[int, range], mask: int) -> int | None:
    """The rows of ``mask`` moved by what ``form`` is for all values of its loops; None where these
    are too many to be gone through."""
    inside = {v for key, _ in form.items if type(key) is Atom for v in (key.a + key.b).variables()}
    if not inside:
        return _spread(form, ranges, mask)
    values = []
    for loop_id in sorted(inside):
        period = form_period(form, loop_id)
        values.append(ranges[loop_id][:period])
    if math.prod(map(len, values)) > _MOST_VALUES:
        return None
    found = 0
    for chosen in itertools.product(*values):
        known = dict(zip(sorted(inside), map(Linear, chosen), strict=True))
        found |= _spread(form.substitute(known), ranges, mask)
    return found


def _spread(form: Linear, ranges: Mapping[int, range], mask: int) -> int:
    first = form.const
    for loop_id, by in form.items:
        values = ranges[loop_id]  # type: ignore[index]
        first += by * (values[0] if by > 0 else values[-1])
        done = 1
        while done < len(values):
            more = min(done, len(values) - done)
            mask |= mask << abs(by) * more
            done += more
    return mask << first


def form_period(form: Linear, loop_id: int) -> int | None:
    """After how many iterations of a loop a form takes the same values again; None for never."""
    period = 1
    for key, _ in form.items:
        if type(key) is not Atom:
            if key == loop_id:
                return None
        elif key.a.depends_on(loop_id) or key.b.depends_on(loop_id):
            if key.op != "floormod" or not key.b.is_const or not key.a.is_linear_in(loop_id):
                return None
            divisor = key.b.const
            period = math.lcm(period, divisor // math.gcd(divisor, key.a.coefficient(loop_id)))
    return period
