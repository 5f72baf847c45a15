"""Files that tell whether they are whole."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npu_target.checked_files import read_checked, write_checked

in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(st.binary())
@in_one_folder
def test_what_is_written_is_read(tmp_path, content):
    write_checked(tmp_path / "file", content)
    assert read_checked(tmp_path / "file") == content


@given(st.binary(), st.data())
@in_one_folder
def test_a_damaged_file_has_no_content(tmp_path, content, data):
    path = tmp_path / "file"
    write_checked(path, content)
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[at]))
    more = data.draw(st.binary(min_size=1))
    for damaged in (whole[:at] + bytes([byte]) + whole[at + 1 :], whole[:at], whole + more):
        path.write_bytes(damaged)
        assert read_checked(path) is None


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_checked(tmp_path / "file")
