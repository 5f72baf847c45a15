"""Atomic writing."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from npu_target import files
from npu_target.files import check_can_write, check_name, open_atomically, write_atomically


def test_writes_and_overwrites_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    for data in (b"one", b"two"):
        write_atomically(path, data)
        assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.bin"
    write_atomically(path, b"old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(files.os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_left_by_an_exception_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with open_atomically(path) as file:
        file.write(b"old")
    with pytest.raises(KeyboardInterrupt):
        with open_atomically(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "link", tmp_path / "there" / "a.bin"
    link.symlink_to("there/a.bin")
    for data in (b"one", b"two"):  # the link points to nothing at first
        check_can_write(link)
        write_atomically(link, data)
        assert link.is_symlink() and target.read_bytes() == data and not target.is_symlink()
    assert sorted(tmp_path.rglob("*")) == [link, target.parent, target]


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_can_write(pipe)
    with ThreadPoolExecutor() as pool:
        read = pool.submit(pipe.read_bytes)
        write_atomically(pipe, b"data")
        assert read.result(timeout=60) == b"data"
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


def test_mode_is_that_of_an_ordinary_file(tmp_path: Path) -> None:
    (tmp_path / "ordinary").write_bytes(b"")
    write_atomically(tmp_path / "a.bin", b"")
    (tmp_path / "behind").write_bytes(b"")  # whose mode is as before
    modes = {os.stat(tmp_path / name).st_mode for name in ("ordinary", "a.bin", "behind")}
    assert len(modes) == 1


@pytest.mark.parametrize("name", ["gemmini-16x16", "a", "Z.9_-", "0" * 100, "a..b"])
def test_names_that_may_be_in_paths(name: str) -> None:
    check_name("the name", name, ValueError)


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../../evil", "a/b", "a\\b", "/etc", ".hidden", "-rf", "_", "a\0", "a\n", "a b",
     "a:b", "é", "٣", "a" * 101, "a" * 300, None, 16, b"a"],
)  # fmt: skip
def test_names_that_may_not(name: object) -> None:
    with pytest.raises(KeyError, match=r"A-Z a-z 0-9 \. _ -") as caught:
        check_name("the name", name, KeyError)
    assert "the name is" in str(caught.value) and len(str(caught.value)) < 300
