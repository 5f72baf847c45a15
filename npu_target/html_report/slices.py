"""What a simulator tells of a run over time, kept as arrays."""

from __future__ import annotations

import numpy as np

from ..sim.timeline import Slice

# More are not kept: 168 bytes each.
MAX_SLICES = 500_000

# Of an array of them, as the simulator packs them.
DTYPE = np.dtype([(name, "<i8") for name in Slice._fields])


class SliceKeeper:
    """Takes slices as `device_api.profile.SliceReceiver`, up to so many."""

    def __init__(self, most: int = MAX_SLICES) -> None:
        self._left = most
        self._parts: list[np.ndarray] = []
        # The cycle from which on slices are missing, None if none are.
        self.cut_at: int | None = None

    def receive(self, packed: bytes) -> bool:
        """Keep slices. False when there is no room for more."""
        slices = np.frombuffer(packed, DTYPE)
        if len(slices) > self._left:
            self.cut_at = int(slices["start"][self._left])
            slices = slices[: self._left]
        self._left -= len(slices)
        self._parts.append(slices.copy())
        return self.cut_at is None

    @property
    def slices(self) -> np.ndarray:
        """All that were kept, with the fields of `Slice`."""
        return np.concatenate(self._parts) if self._parts else np.empty(0, DTYPE)
