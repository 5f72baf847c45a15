"""A report that several files of tests look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_network
from html_report.reports import build_report

from npu_target.models import registry


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A report of the network `tiny`, and its document."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.MODELS, "tiny", tiny_network.tiny)
        yield build_report(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def document(built: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    return built[1]
