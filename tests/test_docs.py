"""The documentation is true: its Python examples give what they show, its links lead somewhere."""

from __future__ import annotations

import doctest

import pytest
from markdown import PAGES, ROOT, blocks, links

_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def _name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.long
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=_name)
def test_examples_give_what_they_show(page):
    """The blocks of a page run one after another, in one namespace."""
    runner = doctest.DocTestRunner(optionflags=_FLAGS)
    namespace: dict[str, object] = {}
    said: list[str] = []
    for block in blocks(page, "python"):
        assert ">>>" in block.text, f"{page}:{block.line}: an example shows no prompt"
        example = doctest.DocTestParser().get_doctest(
            block.text, namespace, page.name, str(page), block.line - 1
        )
        runner.run(example, out=said.append, clear_globs=False)
        namespace.update(example.globs)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_to_files_that_exist(page):
    relative = [link.partition("#")[0] for link in links(page) if "://" not in link]
    missing = [link for link in relative if link and not (page.parent / link).exists()]
    assert not missing
