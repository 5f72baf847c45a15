"""The template's device as a kind that is installed in this process, as its package would be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from installed_kinds import installed
from my_npu.kind import KIND


@pytest.fixture(scope="module")
def my_npu() -> Iterator[None]:
    """Its kind is known, and programs for it run."""
    with installed(KIND):
        yield
