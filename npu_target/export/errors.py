"""What stands in the way of an export."""

from __future__ import annotations

from ..tuning.errors import TuningError


class ExportError(TuningError):
    """A network, or a wish for it, that no folder of C can be made of."""
