"""The page: one HTML file that holds everything it shows and asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..accuracy.report import ITS_INTEGERS
from ..files import WriteError, write_atomically
from .documents import Document

# Later ones use what those before them define.
_SCRIPTS = (
    "draw.js",
    "roofline.js",
    "search.js",
    "time_window.js",
    "lanes.js",
    "memory.js",
    "page.js",
)
_FILES = files(__package__) / "files"


def write_page(path: Path, document: Document) -> None:
    """Raises WriteError where the file cannot be written."""
    try:
        write_atomically(path, page(document).encode())
    except OSError as error:
        raise WriteError(f"{path} cannot be written: {error.strerror or error}") from error


def page(document: Document) -> str:
    """The file's text: the same for the same document.

    Names may be anything: Jinja escapes them in the page and in the data that scripts draw, and the
    browser is told to run no script but the one that is ours.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(count=_count, percent=_percent, short=_short)
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "sort_keys": False}
    script = "\n".join(_text(name) for name in _SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("page.html").render(
        document=document,
        drawn=_drawn(document),
        its_integers=ITS_INTEGERS,
        script=script,
        script_digest=digest,
        style=_text("style.css"),
    )


def _drawn(document: Document) -> Document:
    """What the scripts need of it."""
    device = document["device"]
    return {
        "device": {
            "peak_macs": device["peak_macs"],
            "links": device["links"],
            "reasons": list(device["reasons"]),
            "reason_words": device["reasons"],
        },
        "layers": document["layers"],
        "search": document["search"],
    }


def _text(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


def _count(value: float) -> str:
    """`1,234`."""
    return f"{round(value):,}"


def _percent(value: float) -> str:
    """Of a share, 0 to 1: `12.3 %`, in one line."""
    return f"{100 * value:.1f}\N{NO-BREAK SPACE}%"


def _short(value: Any) -> str:
    """`115.6 million`."""
    for size, name in ((10**9, "billion"), (10**6, "million"), (10**3, "thousand")):
        if value >= size:
            return f"{value / size:.1f} {name}"
    return str(value)
