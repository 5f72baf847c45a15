"""The site made of docs/: its pages are there, its links lead somewhere, its notebook runs."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from markdown import ROOT

for needed in ("sphinx", "myst_nb", "furo"):
    pytest.importorskip(needed, reason="needs the extra docs")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Made of a copy, beside the rest of the repository: what is made meanwhile goes there. A
    warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    for path in ROOT.iterdir():
        if path.name != "docs":
            (folder / path.name).symlink_to(path)
    shutil.copytree(ROOT / "docs", folder / "docs")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going"]
    done = subprocess.run(
        [*command, folder / "docs", folder / "_site"], text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "_site"


def text_of(page: Path) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", page.read_text(encoding="utf-8")))


def test_every_page_is_there_and_is_found_from_the_first(site):
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in documents()}
    assert len(pages) > 30
    seen, left = set(), [Path("index")]
    while left:
        page = left.pop()
        if page in seen:
            continue
        seen.add(page)
        links = re.findall(r'href="([^"#:]*)\.html', (site / page).with_suffix(".html").read_text())
        left += [(site / page.parent / link).resolve().relative_to(site) for link in links]
    assert pages <= seen


def documents() -> list[Path]:
    docs = ROOT / "docs"
    return [*docs.rglob("*.md"), *docs.glob("*.ipynb")]


def test_the_notebook_shows_what_it_says(site):
    text = text_of(site / "first_steps.html")
    notebook = json.loads((ROOT / "docs" / "first_steps.ipynb").read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells), "is kept without outputs"
    for cell in cells:
        assert cell["source"][0].strip() in text
    assert re.search(r"strict=True\)\)\s*True\b", text), "a saved build gives the same"
    assert text.count("cycles of one run") == 2 * 2, "two tables, each also as it is printed"
    assert "ms in all" in text


def test_references_are_made_from_what_is_there(site):
    commands = text_of(site / "commands.html")
    for option in ("--require-tuned", "--vary", "--run-with", "array use"):
        assert option in commands
    reference = text_of(site / "api.html")
    for name in ("LoadedModel", "load_built", "trials", "DeviceConfig", "parse_operator"):
        assert name in reference
