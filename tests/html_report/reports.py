"""Reports for tests: that of a small network, made by the command."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from command_lines import build

from npu_target.html_report import page

HOSTILE = '</script><img src=x onerror="pwned=1">\'{{7*7}}&lt;'


def build_report(folder: Path, *arguments: str) -> tuple[Path, dict[str, Any]]:
    """The report of a build of the network `tiny`, and the document that it shows."""
    seen: list[dict[str, Any]] = []
    output = folder / "report.html"

    def write(path: Path, document: dict[str, Any]) -> None:
        seen.append(document)
        page.write_page(path, document)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("npu_target.jobs.build.write_page", write)
        options = ["--model=tiny", "-o", str(folder / "tiny.so"), f"--report={output}", *arguments]
        assert build(options) == 0
    return output, seen[0]


def with_search(document: dict[str, Any]) -> dict[str, Any]:
    """As if two layers had been tuned."""
    document = copy.deepcopy(document)
    for layer, trials in zip(document["layers"][:2], (5, 40), strict=True):
        cycles = layer["cycles"]
        steps = [[1, 3 * cycles], [3, 2 * cycles], [trials, cycles]]
        named = {"name": layer["name"], "trials": trials, "failed": 2, "steps": steps}
        document["search"].append(named)
    return document


def with_hostile_names(document: dict[str, Any]) -> dict[str, Any]:
    """With names that would be markup, scripts or templates."""
    document = with_search(document)
    for layer in document["layers"]:
        layer["name"] += HOSTILE
        layer["schedule"] += HOSTILE
        layer["packed"] = [HOSTILE]
    for row in document["graph"]:
        for key in ("name", "why", "operations", "result"):
            row[key] += HOSTILE
    for curve in document["search"]:
        curve["name"] += HOSTILE
    document["title"] += HOSTILE
    document["runner"] = HOSTILE
    document["versions"]["command"] += HOSTILE
    return document
