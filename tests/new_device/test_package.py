"""The package of a new device: what is written, and what is refused."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest
from command_lines import new_device

from npu_target.new_device import package
from npu_target.new_device.package import NewDeviceError, template_files, write_package

MOST_LINES = 500


def files_of(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def test_it_is_short(tmp_path: Path) -> None:
    write_package("tiny", tmp_path / "it")
    texts = [(tmp_path / "it" / path).read_text("utf-8") for path in files_of(tmp_path / "it")]
    assert sum(len(text.splitlines()) for text in texts) < MOST_LINES


@pytest.mark.parametrize("name", ["n", "vec_mat_2", "x" * 40])
def test_the_name_is_everywhere(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "it"
    assert sorted(write_package(name, folder)) == files_of(folder)
    assert len(files_of(folder)) == len(list(template_files()))
    for path in files_of(folder):
        text = (folder / path).read_text("utf-8")
        assert package.TEMPLATE_NAME not in f"{path} {text}"
        assert package.TEMPLATE_CLASS not in text
        if path.suffix == ".py":
            ast.parse(text)
    assert f'{name} = "{name}.kind:KIND"' in (folder / "pyproject.toml").read_text("utf-8")
    assert (folder / "src" / name / "limits.def").is_file()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "the name is ''"),
        ("2d", "begin with a letter"),
        ("my-npu", "a-z 0-9 _"),
        ("MyNpu", "a-z 0-9 _"),
        ("x" * 41, "1 to 40"),
        ("../up", "a-z 0-9 _"),
        ("class", "a word of Python"),
        ("match", "a word of Python"),
        ("gemmini", "there is a device called 'gemmini'"),
        ("numpy", "there is a Python package called 'numpy'"),
        ("npu_target", "there is a Python package called 'npu_target'"),
        ("sys", "there is a Python package called 'sys'"),
    ],
)
def test_names_that_are_refused(
    name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert new_device([name, str(tmp_path / "it")]) == 1
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.startswith("npu-target new-device: error: ")
    assert not said.out
    assert not list(tmp_path.iterdir())


def test_a_mere_folder_takes_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mere_folder").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    write_package("mere_folder", tmp_path / "it")


def test_folders_that_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    before = files_of(tmp_path)
    for there in ("file", "folder", "link"):
        with pytest.raises(NewDeviceError, match=f"{there} is there already"):
            write_package("tiny", tmp_path / there)
    for place in ("missing/it", "file/it"):
        with pytest.raises(NewDeviceError, match=f"{place} cannot be written: "):
            write_package("tiny", tmp_path / place)
    assert files_of(tmp_path) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="who may write everywhere")
def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(NewDeviceError, match="Permission denied"):
        write_package("tiny", tmp_path / "it")


def test_nothing_is_left_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_text
    written: list[Path] = []

    def full(self: Path, text: str, encoding: str) -> int:
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        written.append(self)
        return write(self, text, encoding=encoding)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(NewDeviceError, match="it cannot be written: No space left on device"):
        write_package("tiny", tmp_path / "it")
    assert not list(tmp_path.iterdir())


def test_it_says_what_comes_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "with a space"
    assert new_device(["tiny", str(folder)]) == 0
    said = capsys.readouterr().out
    assert f"pip install -e '{folder}'" in said
    assert "pytest --pyargs npu_target.conformance --device tiny" in said
