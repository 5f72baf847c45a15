"""What is no file of a network is refused."""

from pathlib import Path

import pytest

from npu_target.frontend import SUFFIXES, FrontendError, load


def test_an_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(FrontendError, match="ends in one of"):
        load(tmp_path / "net.docx")
    with pytest.raises(FrontendError, match="ends in one of"):
        load("net.docx")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_not_there_is_refused(suffix):
    with pytest.raises(FrontendError, match=rf"gone\{suffix} is not there"):
        load(Path(f"gone{suffix}"))
