"""A report that several files of tests look at, in a browser too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import tiny_network
from chromium import show_as, start
from html_report.pages import load
from html_report.reports import build_report, with_search

from npu_target.models import registry

if TYPE_CHECKING:
    from selenium.webdriver import Chrome


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A report of the network `tiny`, and its document."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.MODELS, "tiny", tiny_network.tiny)
        yield build_report(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def document(built: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    return built[1]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    browser = start(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.quit()


@pytest.fixture(scope="session")
def shown(document: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return with_search(document)


@pytest.fixture
def page(browser: Chrome, shown: dict[str, Any], tmp_path: Path) -> Iterator[Chrome]:
    """The report on a wide, light screen; at the end nothing must have been complained of."""
    show_as(browser, 1200, 900)
    load(browser, shown, tmp_path)
    yield browser
    assert browser.get_log("browser") == []
