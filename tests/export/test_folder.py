"""Folders of exports: whole, or as they were."""

from __future__ import annotations

import errno
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from exported_networks import host_network
from host_modules import module, op
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_target.device import preset
from npu_target.export import folder as exports
from npu_target.export.errors import ExportError
from npu_target.export.folder import check_folder, write_folder
from npu_target.export.golden import Golden
from npu_target.export.network import PlacedNetwork

FILES = 10  # less than an export writes


@pytest.fixture(scope="module")
def network() -> PlacedNetwork:
    return host_network(module([((4,), "int8")], op.nn.relu), preset("gemmini-16x16"))


def write(folder: Path, network: PlacedNetwork, number: int) -> None:
    """An export that tells itself from others."""
    values = [np.full(4, number, "int8")]
    write_folder(folder, network, {}, Golden(values, values), "native")


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@settings(max_examples=20, deadline=None)
@given(written=st.integers(0, FILES), state=st.sampled_from(["none", "empty", "export"]))
@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_what_cannot_be_written_changes_nothing(
    network: PlacedNetwork, failure: BaseException, written: int, state: str
) -> None:
    """And the folder is one to export to, once there is room."""
    left = [written]

    def writes(path: Path, data: bytes) -> None:
        if left[0] == 0:
            raise failure
        left[0] -= 1
        path.write_bytes(data)

    with TemporaryDirectory() as parent, pytest.MonkeyPatch.context() as patch:
        folder = Path(parent) / "net"
        if state != "none":
            folder.mkdir()
        if state == "export":
            write(folder, network, 1)
            (folder / "mine.txt").write_text("mine")
        before = content(folder)
        patch.setattr(exports, "write_atomically", writes)
        with pytest.raises((ExportError, KeyboardInterrupt)):
            write(folder, network, 2)
        patch.undo()
        assert folder.exists() == (state != "none")
        assert content(folder) == before
        assert list(Path(parent).iterdir()) == ([] if state == "none" else [folder])
        check_folder(folder)
        write(folder, network, 2)
        assert (folder / "golden/input.bin").read_bytes()[0] == 2
        assert (folder / "mine.txt").exists() == (state == "export")


def test_another_export_leaves_nothing_of_the_one_before(
    network: PlacedNetwork, tmp_path: Path
) -> None:
    folder = tmp_path / "net"
    write(folder, network, 1)
    wanted = content(folder)
    (folder / "kernels/of_before.c").touch()
    (folder / "net.h").write_text((folder / "net.h").read_text() + "// before")
    write(folder, network, 1)
    assert content(folder) == wanted
    assert not any(path.name.startswith(".") for path in folder.iterdir())


def test_a_link_to_a_folder_stays(network: PlacedNetwork, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "net").symlink_to("real")
    write(tmp_path / "net", network, 1)
    assert (tmp_path / "net").is_symlink() and (tmp_path / "real/net.h").exists()
