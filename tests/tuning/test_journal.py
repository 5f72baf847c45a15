from __future__ import annotations

import os
import threading

import pytest

from npu_target.tuning import journal
from npu_target.tuning.errors import LogError
from npu_target.tuning.journal import Journal, encode, read_lines


def fine(_: object) -> None:
    return None


@pytest.fixture
def path(tmp_path):
    """A journal of two lines."""
    path = tmp_path / "journal"
    writer = Journal(path)
    for number in (1, 2):
        writer.append(encode({"number": number}))
    writer.close()
    return path


def test_lines_are_read_again(path):
    lines = read_lines(path, fine)
    assert [(line.value, line.problem) for line in lines] == [
        ({"number": 1}, None),
        ({"number": 2}, None),
    ]
    assert [line.data for line in lines] == [b'{"number":1}', b'{"number":2}']


def test_a_missing_file_has_no_lines(tmp_path):
    assert read_lines(tmp_path / "nothing", fine) == []


def test_a_short_write_is_taken_back(path, monkeypatch):
    before, write = path.read_bytes(), os.write
    writer = Journal(path)
    monkeypatch.setattr(journal.os, "write", lambda file, data: write(file, data[:5]))
    with pytest.raises(LogError, match="cannot be written: no space left"):
        writer.append(encode({"number": 3}))
    monkeypatch.undo()
    assert path.read_bytes() == before
    writer.append(encode({"number": 4}))
    assert [line.value["number"] for line in read_lines(path, fine)] == [1, 2, 4]


def test_a_full_disk_is_an_error(tmp_path):
    (tmp_path / "journal").symlink_to("/dev/full")
    with pytest.raises(LogError, match="journal cannot be written: No space left on device"):
        Journal(tmp_path / "journal").append(b"1")


def test_what_a_short_write_left_is_told(path, monkeypatch):
    """Where the run died before it could take it back."""
    with open(path, "ab") as file:
        file.write(b'{"number"')
    *whole, last = read_lines(path, fine)
    assert [line.value["number"] for line in whole] == [1, 2]
    assert (last.value, last.problem) == (None, "is cut off")


def test_a_line_that_lacks_only_its_end_keeps_its_value(path):
    path.write_bytes(path.read_bytes()[:-1])
    last = read_lines(path, fine)[-1]
    assert (last.value, last.problem) == ({"number": 2}, "is cut off")


@pytest.mark.parametrize(
    "bad", [b"", b"\0", b"\xff", b"{", b"[" * 100_000, b"9" * 5_000, b'{"a":1}\x0b']
)
def test_what_is_no_json_is_told(path, bad):
    first, second = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([first, bad, second, b""]))
    lines = read_lines(path, fine)
    assert [line.problem for line in lines] == [None, "is not JSON", None]


def test_the_check_has_its_say(path):
    lines = read_lines(path, lambda value: "is odd" if value["number"] % 2 else None)
    assert [(line.value, line.problem) for line in lines] == [
        (None, "is odd"),
        ({"number": 2}, None),
    ]


def test_threads_do_not_mix_their_lines(tmp_path):
    writer = Journal(tmp_path / "journal")
    threads = [
        threading.Thread(target=lambda n=n: [writer.append(encode([n] * 500)) for _ in range(50)])
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = read_lines(tmp_path / "journal", fine)
    assert len(lines) == 200 and all(line.value == [line.value[0]] * 500 for line in lines)
