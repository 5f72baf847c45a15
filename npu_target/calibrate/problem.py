"""How far a config is from what was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from ..device import ConfigError, DeviceConfig

# The cycles that a device takes for each thing that was measured, float64 [n]. Raises RuntimeError
# where the simulated device refuses one.
Predict = Callable[[DeviceConfig], np.ndarray]

# Errors are taken to be distributed as Student's t with so many degrees of freedom, of a size that
# is not known: what the model has no part for, in few programs, must not decide everything else.
_FREEDOM = 4
# The same layer on the same hardware differs by this much from run to run.
LEAST_SPREAD = 0.001
# That are tried, from the spread to 1.
_SIZES = 48
_WIDEST, _CLOSER = 0.1, 4


class Problem:
    """What was measured, against what the simulator says for a config.

    measured : cycles [n], positive.
    spread : what repeated measurements differ by, relative; nothing is fitted closer than that.
    """

    def __init__(self, predict: Predict, measured: np.ndarray, spread: float = 0.0) -> None:
        self.measured = np.asarray(measured, dtype=float)
        self.runs = 0  # of all programs, on a config that was not seen yet
        self._predict = predict
        self._spread = max(spread, LEAST_SPREAD)
        self.look(self._spread)
        self._cycles: dict[str, np.ndarray | None] = {}

    def look(self, least: float) -> None:
        """Take errors for of this size at least, relative: what is smaller is not seen."""
        self._sizes = np.geomspace(least, max(1.0, least), _SIZES)[:, None]

    @property
    def looks(self) -> list[float]:
        """Sizes to look at errors with, one after the other, the last one as close as it goes.
        What explains most of what is far off has to be found first: seen closely, what it mends
        only in part looks as wrong as before."""
        sizes = [self._spread]
        while sizes[-1] * _CLOSER < _WIDEST:
            sizes.append(sizes[-1] * _CLOSER)
        return sizes[::-1]

    def cycles(self, config: DeviceConfig) -> np.ndarray | None:
        """As the simulator counts them; None for a config on which it refuses something."""
        if config.hash not in self._cycles:
            self.runs += 1
            try:
                self._cycles[config.hash] = np.maximum(self._predict(config), 1.0)
            except RuntimeError:
                self._cycles[config.hash] = None
        return self._cycles[config.hash]

    def errors(self, config: DeviceConfig) -> np.ndarray:
        """Simulated less measured cycles, relative to the latter [n]."""
        cycles = self.cycles(config)
        if cycles is None:
            raise RuntimeError(f"{config.name}: the simulated device refuses what was measured")
        return cycles / self.measured - 1

    def residuals(self, config: DeviceConfig) -> np.ndarray:
        """The logarithms of simulated by measured cycles [n]."""
        return np.log1p(self.errors(config))

    def weights(self, config: DeviceConfig) -> np.ndarray:
        """How much each of them decides [n]: the farther off, of what is off anyway, the less."""
        terms = self._terms(self.residuals(config))
        size = float(self._sizes[int(np.argmin(terms)), 0])
        return 1 / np.sqrt(1 + (self.residuals(config) / size) ** 2 / _FREEDOM)

    def misfit(self, config: DeviceConfig) -> float:
        """Twice the negative logarithm of the likelihood of the logarithmic errors, for the size
        that makes it the least."""
        cycles = self.cycles(config)
        if cycles is None:
            return math.inf
        return float(self._terms(np.log(cycles / self.measured)).min())

    def _terms(self, residuals: np.ndarray) -> np.ndarray:
        """The misfit for each size of errors."""
        squares = (residuals / self._sizes) ** 2
        terms = 2 * np.log(self._sizes) + (_FREEDOM + 1) * np.log1p(squares / _FREEDOM)
        return np.asarray(terms.sum(axis=1))

    @property
    def value_costs(self) -> float:
        """By how much less luck alone makes the misfit for a number that is fitted (BIC)."""
        return math.log(len(self.measured) + 1)


def changed(config: DeviceConfig, values: Mapping[str, int]) -> DeviceConfig | None:
    """The config with these values; None where no device can have them."""
    try:
        return config.replace(**values)
    except ConfigError:
        return None
