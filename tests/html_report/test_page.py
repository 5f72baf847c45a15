"""The page as a file: complete, and safe whatever names a network has."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from html_report.reports import HOSTILE, with_hostile_names, with_search

from npu_target.files import WriteError
from npu_target.html_report.page import page, write_page


class Elements(HTMLParser):
    """Tags with their attributes, and the text of scripts and of everything else."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open == "script":
            self.scripts[-1] += data
        elif self._open != "style":
            self.text += data


def test_it_asks_nobody_for_anything(document):
    text = page(with_search(document))
    elements = Elements(text)
    assert not {tag for tag, _ in elements.tags} & {"link", "img", "iframe", "object", "embed"}
    for tag, attributes in elements.tags:
        for name in ("src", "href", "data", "action"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
    # SVG's namespace is a name, not a place.
    assert set(re.findall(r"https?://[^\"'\s)]+", text)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in Elements(text).text and "@import" not in text


def test_its_own_script_is_the_only_one_that_runs(document):
    elements = Elements(page(document))
    [policy] = [a["content"] for tag, a in elements.tags if a.get("http-equiv")]
    data, script = elements.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy
    types = [a.get("type") for tag, a in elements.tags if tag == "script"]
    assert types == ["application/json", None]
    assert len(json.loads(data)["layers"]) == len(document["layers"])


def test_names_are_text_whatever_is_in_them(document):
    harmless, hostile = with_search(document), with_hostile_names(document)
    text = page(hostile)
    elements = Elements(text)
    assert len(elements.scripts) == 2
    assert [tag for tag, _ in elements.tags if tag == "img"] == []
    assert not [a for _, a in elements.tags if any(name.startswith("on") for name in a)]
    assert json.loads(elements.scripts[0])["layers"][0]["name"] == hostile["layers"][0]["name"]
    assert elements.text.count(HOSTILE) >= len(document["layers"]) + 4 * len(document["graph"])
    before = Elements(page(harmless))
    # What is there beside is what packed arguments and a runner add.
    assert {tag for tag, _ in elements.tags} == {tag for tag, _ in before.tags}


def test_every_link_leads_somewhere(document):
    elements = Elements(page(with_search(document)))
    ids = [a["id"] for _, a in elements.tags if "id" in a]
    assert len(ids) == len(set(ids))
    links = {a["href"] for tag, a in elements.tags if tag == "a"}
    assert {link.removeprefix("#") for link in links if link} <= set(ids)
    assert {f"#layer-{n + 1}" for n in range(len(document["layers"]))} <= links


def test_the_page_has_the_numbers_of_the_document(document):
    text = Elements(page(document)).text
    assert document["title"] in text and document["device"]["hash"] in text
    for layer in document["layers"]:
        assert layer["name"] in text
        assert f"{layer['cycles']:,}" in text and f"{layer['default_cycles']:,}" in text
        assert f"{round(layer['bounds']['cycles']['host']):,}" in text
    for row in document["graph"]:
        assert row["why"] in text and row["result"] in text
    for name, value in document["device"]["numbers"].items():
        assert name in text and f"{value:,}" in text
    for version in document["versions"].values():
        assert version in text


def test_what_there_is_nothing_of_is_left_out(document):
    bare = copy.deepcopy(document)
    bare.update(layers=[], totals=None, graph=[], in_sequence=None, search=[])
    elements = Elements(page(bare))
    ids = {a.get("id") for tag, a in elements.tags if tag == "section"}
    assert ids == {"device"}


def test_a_network_without_layers_on_the_device_says_so(document):
    bare = copy.deepcopy(document)
    none = dict.fromkeys(bare["totals"], 0)
    bare.update(layers=[], totals=none, in_sequence=None, search=[])
    assert (
        "No layer of this network runs on the device; its parts say why"
        in Elements(page(bare)).text
    )


def test_a_device_that_tells_only_cycles_has_a_report_without_reasons(document):
    silent = copy.deepcopy(document)
    silent["device"]["reasons"] = {}
    silent["device"]["links"] = []
    for layer in silent["layers"]:
        layer.update(breakdown={}, over_time=None, roofline=None)
        del layer["bounds"]["cycles"]["memory"]
        layer["bounds"].update(largest="host", link=None)
    text = Elements(page(silent)).text
    assert "tells no reasons" in text and "tells nothing over time" in text
    assert "does not say what its way to memory carries" in text


def test_equal_documents_are_equal_pages_of_a_bounded_size(document):
    assert page(document) == page(copy.deepcopy(document))
    per_layer = len(page(document)) / len(document["layers"])
    # Seven lanes of 2,000 intervals in two numbers of some digits, and two pictures.
    assert per_layer < 7 * 2000 * 2 * 8 + 2 * 64 * 200 + 50_000


def test_a_place_that_cannot_be_written_is_one_line(document: dict[str, Any], tmp_path: Path):
    with pytest.raises(WriteError, match="cannot be written"):
        write_page(tmp_path / "none" / "report.html", document)
    assert list(tmp_path.iterdir()) == []
