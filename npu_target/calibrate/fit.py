"""Which few fields of a config, with which values, explain what was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..device import DeviceConfig
from .line_search import Best, LineSearch
from .problem import Problem, changed
from .proposals import in_place_of, promising_pairs

Values = dict[str, int]

# Fields whose best value is looked for closely, of those that help most by a coarse one.
_LOOKS = 4
_PAIRS = 3
_MOST_SWEEPS = 6
# Sweeps over the fields end when one lowers the misfit by less.
_LEAST_GAIN = 0.01


@dataclass(frozen=True)
class Fitted:
    """The values that differ from where the search began, and the misfit that is left."""

    values: Mapping[str, int]
    misfit: float


class Fitter:
    """Changes as few fields as explain what was measured, one after another.

    Errors are looked at from afar first (`Problem.looks`). In each round the field that helps most
    beside those changed already is changed; then all values are found anew, and what no longer pays
    is taken back. Where no field helps any more, pairs of fields are tried, and other fields in the
    place of those changed. A change has to pay by `score`.

    fields : those that may change.
    told : is called with the values so far.
    """

    def __init__(
        self,
        problem: Problem,
        start: DeviceConfig,
        fields: Sequence[str],
        told: Callable[[Fitted], None] = lambda fitted: None,
    ) -> None:
        self.problem = problem
        self.start = start
        self.fields = tuple(fields)
        self._told = told
        # Twice what a value costs, since the value is looked for far and wide; and what the best of
        # so many fields gains by being the best (the extended BIC of Chen and Chen, 2008).
        self._change_costs = 2 * problem.value_costs + 2 * math.log(max(1, len(self.fields)))

    def fit(self) -> Fitted:
        values: Mapping[str, int] = {}
        for least in self.problem.looks:
            self.problem.look(least)
            values = self._fit(values).values
        return Fitted(values, self.misfit(values))

    def _fit(self, values: Mapping[str, int]) -> Fitted:
        best = self.refined(values)
        while True:
            for other in (self._extended, self._extended_by_two, self._replaced):
                found = self._pruned(other(best))
                if self.score(found) < self.score(best):
                    break
            else:
                return best
            best = found
            self._told(best)

    def score(self, fitted: Fitted) -> float:
        """What to minimize: the misfit, and for each change what makes up for its luck."""
        return fitted.misfit + len(fitted.values) * self._change_costs

    def misfit(self, values: Mapping[str, int]) -> float:
        """Of the config that has these values; infinite where no device can have them."""
        config = changed(self.start, values)
        return float("inf") if config is None else self.problem.misfit(config)

    def search(self, values: Mapping[str, int], field: str) -> LineSearch:
        """For the best value of a field beside others."""
        least, most = self.start.limits.fields[field]
        now = values.get(field, getattr(self.start, field))
        return LineSearch(lambda value: self.misfit({**values, field: value}), now, least, most)

    def refined(self, values: Mapping[str, int]) -> Fitted:
        """The best values of these fields together, from those given on."""
        values = dict(values)
        misfit = self.misfit(values)
        for _ in range(_MOST_SWEEPS):
            before = misfit
            for field in values:
                values[field], misfit = self.search(values, field).near()
            if before - misfit < _LEAST_GAIN:
                break
        return Fitted(self._differing(values), misfit)

    def helpful(self, values: Mapping[str, int], fields: Iterable[str]) -> list[tuple[str, Best]]:
        """The few of these fields that help most beside `values`, each with its best value, the
        best first."""
        searches = {field: self.search(values, field) for field in fields}
        coarse = {field: search.coarse().cost for field, search in searches.items()}
        promising = sorted(coarse, key=coarse.__getitem__)[:_LOOKS]
        found = [(field, searches[field].fine()) for field in promising]
        return sorted(found, key=lambda one: one[1].cost)

    def _extended(self, fitted: Fitted) -> Fitted:
        others = [field for field in self.fields if field not in fitted.values]
        tried = [
            self.refined({**fitted.values, field: best.value})
            for field, best in self.helpful(fitted.values, others)[:2]
        ]
        return min(tried, key=self.score, default=fitted)

    def _extended_by_two(self, fitted: Fitted) -> Fitted:
        config = changed(self.start, fitted.values)
        assert config is not None
        pairs = promising_pairs(self.problem, config, self.fields, _PAIRS)
        tried = [self.refined({**fitted.values, **values}) for values in pairs]
        return min(tried, key=self.score, default=fitted)

    def _pruned(self, fitted: Fitted) -> Fitted:
        """Without what does not pay."""
        while fitted.values:
            tried = [self.refined(without(fitted.values, field)) for field in fitted.values]
            best = min(tried, key=self.score)
            if self.score(best) > self.score(fitted):
                return fitted
            fitted = best
        return fitted

    def _replaced(self, fitted: Fitted) -> Fitted:
        """With another field in the place of one, where that is better."""
        tried = [
            self.refined(proposal)
            for field in fitted.values
            for proposal in self.proposed_instead(fitted, field, 1)
        ]
        return min((fitted, *tried), key=self.score)

    def proposed_instead(self, fitted: Fitted, field: str, most: int) -> list[Mapping[str, int]]:
        """Values to try that have another field in the place of one that was changed: as many that
        help beside the others as they are, and as many that change with them."""
        values = without(fitted.values, field)
        others = [other for other in self.fields if other not in fitted.values]
        alone = self.helpful(values, others)[:most]
        proposed: list[Mapping[str, int]] = [{**values, name: best.value} for name, best in alone]
        config = changed(self.start, fitted.values)
        assert config is not None
        old = {field: int(getattr(self.start, field))}
        together = in_place_of(self.problem, config, old, list(values), others, most)
        return [*proposed, *({**values, **proposal} for proposal in together)]

    def _differing(self, values: Mapping[str, int]) -> Values:
        return {
            field: value for field, value in values.items() if value != getattr(self.start, field)
        }


def without(values: Mapping[str, int], field: str) -> Values:
    """The other values."""
    return {name: value for name, value in values.items() if name != field}
