"""What is no file of a network is refused."""

from pathlib import Path

import pytest

from npu_target.frontend import SUFFIXES, FrontendError, load


def test_an_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(FrontendError, match="ends in one of"):
        load(tmp_path / "net.docx")


def test_a_file_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setitem(SUFFIXES, ".net", "net")
    with pytest.raises(FrontendError, match=r"gone\.net is not there"):
        load(Path("gone.net"))
