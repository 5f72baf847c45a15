"""How reports look in a real browser: colours, a phone, no scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from chromium import show_as
from html_report.pages import IN_BROWSER, js, load, open_all
from html_report.reports import with_hostile_names

from npu_target.html_report.page import write_page

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = IN_BROWSER


def colours(browser: Chrome) -> tuple[str, ...]:
    """Of the page and of its text."""
    style = "getComputedStyle(document.body)"
    return tuple(js(browser, f"{style}.{part}") for part in ("backgroundColor", "color"))


def test_colours_follow_the_system_until_the_reader_chooses(page):
    press = 'document.querySelector(`[data-theme-choice="${arguments[0]}"]`).click()'
    light = colours(page)
    show_as(page, 1200, 900, "dark")
    dark = colours(page)
    assert light != dark
    page.execute_script(press, "light")
    assert colours(page) == light
    page.execute_script(press, "")
    assert colours(page) == dark
    show_as(page, 1200, 900, "light")
    page.execute_script(press, "dark")
    assert colours(page) == dark
    pressed = js(page, "document.querySelector('[aria-pressed=true]').textContent")
    assert pressed == "Dark"


CONTRAST = """
const luminance = (colour) => {
  const parts = colour.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255);
  const [r, g, b] = parts.map((p) => p <= 0.04045 ? p / 12.92 : ((p + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const page = luminance(getComputedStyle(document.body).backgroundColor);
return ["body", "a", ".quiet", ".device .tag", ".host .tag", ".tile span", "footer"].map((what) => {
  const text = luminance(getComputedStyle(document.querySelector(what)).color);
  return (Math.max(text, page) + 0.05) / (Math.min(text, page) + 0.05);
});
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_the_page(page, scheme):
    show_as(page, 1200, 900, scheme)
    # What the Web Content Accessibility Guidelines ask of text, at level AA.
    assert min(page.execute_script(CONTRAST)) >= 4.5


def test_reasons_differ_without_colour(page, shown):
    looks = js(
        page,
        "[...document.querySelectorAll('#cycles .legend i')].map((i) => getComputedStyle(i)"
        ".backgroundImage.replace(/rgba?\\([^)]*\\)/g, 'colour'))",
    )
    assert len(looks) == len(shown["device"]["reasons"]) == len(set(looks))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_to_the_side(page, shown, tmp_path, scheme):
    show_as(page, 390, 844, scheme)
    for document in (shown, with_hostile_names(shown)):
        load(page, document, tmp_path)
        open_all(page)
        assert js(page, "document.documentElement.scrollWidth") == 390
        widest = js(
            page, "Math.max(...[...document.querySelectorAll('svg')].map((s) => s.clientWidth))"
        )
        assert 300 < widest <= 390


def test_without_scripts_the_numbers_are_there(browser, shown, tmp_path):
    show_as(browser, 1200, 900)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        path = tmp_path / "report.html"
        write_page(path, shown)
        browser.get(path.as_uri())
        text = browser.execute_cdp_cmd("DOMSnapshot.captureSnapshot", {"computedStyles": []})
        strings = " ".join(text["strings"])
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    for layer in shown["layers"]:
        assert layer["name"] in strings and f"{layer['cycles']:,}" in strings
