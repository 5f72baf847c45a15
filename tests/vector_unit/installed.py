"""A vector unit as a kind of device that is installed in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from installed_kinds import installed

from .device import KIND


@pytest.fixture
def vector_unit() -> Iterator[None]:
    """Its kind is known, and programs for it run."""
    with installed(KIND):
        yield
