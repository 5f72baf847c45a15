"""What a user chooses: exact or fast, and for which layers otherwise."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from .errors import NumericsError

EXACT, FAST = "exact", "fast"
MODES = (EXACT, FAST)

# A choice to begin with, of the weights alone; what the layer's outputs have,
# `npu_target.accuracy` shows.
_LEAST_WEIGHTS_SNR_DB = 20.0
# Most layers cost 0 to 2 % more; those whose stores take the most time 5 to 50 %.
_MOST_SCALE_EXCESS = 0.1


@dataclass(frozen=True)
class NumericsOptions:
    """By which numbers a network that comes quantized is computed.

    Attributes
    ----------
    mode : one of `MODES`: only what equals the network's own numbers, or what the device does best.
    host : layers that the device shall not compute, nor any part of them.
    device : layers that it shall, also where results differ.
    exact : layers whose results shall be the network's own.
    least_weights_snr_db : in fast mode, layers with a scale for each channel stay exact whose
        weights would have less, in decibels, after they took these scales in.
    most_scale_excess : what a scale for each block of channels, which the device has, may cost more
        than one for all, as a share of the layer's cycles. Layers of which it costs more get one
        for each two, four ... blocks.

    Raises
    ------
    NumericsError
        for another mode, and for a layer that two things are asked of.
    """

    mode: str = EXACT
    host: frozenset[str] = frozenset()
    device: frozenset[str] = frozenset()
    exact: frozenset[str] = frozenset()
    least_weights_snr_db: float = _LEAST_WEIGHTS_SNR_DB
    most_scale_excess: float = _MOST_SCALE_EXCESS

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise NumericsError(f"no mode is called {self.mode!r}; there are: {', '.join(MODES)}")
        for (first, one), (second, other) in combinations(self._sets, 2):
            both = sorted(one & other)
            if both and {first, second} != {"host", "exact"}:
                raise NumericsError(f"{both[0]}: both {first} and {second} are asked for")

    @property
    def _sets(self) -> Sequence[tuple[str, frozenset[str]]]:
        return (("host", self.host), ("on-device", self.device), ("exact", self.exact))

    def check_names(self, layers: Iterable[str]) -> None:
        """Raise NumericsError for a name that is no layer's, with those that are like it."""
        there = list(layers)
        for option, names in self._sets:
            for name in sorted(names):
                if name in there:
                    continue
                near = difflib.get_close_matches(name, there, 3, 0.5)
                hint = f"did you mean {' or '.join(near)}?" if near else _all_of(there)
                raise NumericsError(f"{option}: no layer is called {name!r}; {hint}")

    def is_fast(self, layer: str) -> bool:
        """Whether a layer's results may differ."""
        return layer in self.device or (self.mode == FAST and layer not in self.exact)


def _all_of(names: Sequence[str], most: int = 8) -> str:
    if not names:
        return "there are none to choose for"
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"there are: {', '.join(names[:most])}{more}"
