"""Reports in a real browser: what tests ask of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from chromium import missing_packages

from npu_target.html_report.page import write_page

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

IN_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(
        bool(missing_packages()), reason=f"not installed: {', '.join(missing_packages())}"
    ),
]

OPEN_ALL = "for (const each of document.querySelectorAll('details')) each.open = true;"
# Drawing follows the size of elements, which is told after a frame.
SETTLED = (
    "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame("
    "() => setTimeout(done, 50)));"
)


def load(browser: Chrome, document: dict[str, Any], folder: Path) -> None:
    path = folder / "report.html"
    write_page(path, document)
    browser.get("about:blank")
    browser.get(path.as_uri())
    settle(browser)


def settle(browser: Chrome) -> None:
    browser.execute_async_script(SETTLED)


def js(browser: Chrome, expression: str, *arguments: Any) -> Any:
    return browser.execute_script(f"return {expression};", *arguments)


def open_all(browser: Chrome) -> None:
    browser.execute_script(OPEN_ALL)
    settle(browser)


def rows_shown(browser: Chrome) -> list[str]:
    return js(
        browser,
        "[...document.querySelectorAll('#layer-table tbody tr')]"
        ".filter((row) => row.offsetHeight).map((row) => row.dataset.name)",
    )
