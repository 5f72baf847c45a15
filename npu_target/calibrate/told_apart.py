"""How sure the values of a fit are: which others explain as much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .fit import Fitted, Fitter, without

# Fields that are tried in place of a changed one, of those that promise most.
_LOOKS = 3
# Values as many times as large as the fitted one count as no end.
_FAR = 64


@dataclass(frozen=True)
class Change:
    """A field that was changed.

    least, most : values between which the measurements are explained as well, all else being as it
        is; None where that goes on to the end.
    instead : other fields that explain them as well in its place, each with the values of all
        fields then.
    """

    field: str
    now: int
    fitted: int
    least: int | None
    most: int | None
    instead: Mapping[str, Mapping[str, int]]


def changes_of(fitter: Fitter, fitted: Fitted) -> list[Change]:
    """Each change of a fit, that without which most is unexplained first."""
    misfits = {field: fitter.misfit(without(fitted.values, field)) for field in fitted.values}
    return [
        Change(
            field=field,
            now=int(getattr(fitter.start, field)),
            fitted=fitted.values[field],
            least=_end(fitter, fitted, field, -1),
            most=_end(fitter, fitted, field, 1),
            instead=_instead(fitter, fitted, field),
        )
        for field in sorted(misfits, key=misfits.__getitem__, reverse=True)
    ]


def without_effect(fitter: Fitter, fitted: Fitted) -> list[str]:
    """The fields that nothing measured depends on: neither half of them nor eight times as much
    changes anything."""
    found = []
    for field in fitter.fields:
        if field in fitted.values:
            continue
        now = int(getattr(fitter.start, field))
        misfits = [
            fitter.misfit({**fitted.values, field: value}) for value in (now // 2, 8 * now + 8)
        ]
        if all(misfit in (fitted.misfit, float("inf")) for misfit in misfits):
            found.append(field)
    return found


def _is_as_good(fitter: Fitter, other: Fitted, fitted: Fitted) -> bool:
    # By less than what luck alone brings a value, there is no telling.
    return fitter.score(other) <= fitter.score(fitted) + fitter.problem.value_costs


def _instead(fitter: Fitter, fitted: Fitted, field: str) -> dict[str, Mapping[str, int]]:
    found: dict[str, Mapping[str, int]] = {}
    for proposal in fitter.proposed_instead(fitted, field, _LOOKS):
        tried = fitter.refined(proposal)
        new = [other for other in tried.values if other not in fitted.values]
        if len(new) == 1 and _is_as_good(fitter, tried, fitted):
            found.setdefault(new[0], tried.values)
    return found


def _end(fitter: Fitter, fitted: Fitted, field: str, sign: int) -> int | None:
    """The last value in a direction that explains as much; None for the last there can be."""
    limit = fitter.start.limits.fields[field][0 if sign < 0 else 1]

    def is_as_good(value: int) -> bool:
        values = {**fitted.values, field: value}
        return _is_as_good(fitter, Fitted(values, fitter.misfit(values)), fitted)

    good, step = fitted.values[field], 1
    while good != limit:
        value = min(good + step, limit) if sign > 0 else max(good - step, limit)
        if is_as_good(value):
            good, step = value, 2 * step
            if abs(good) > _FAR * max(1, fitted.values[field]):
                return None
        elif step == 1:
            return good
        else:
            step = step // 2
    return None
