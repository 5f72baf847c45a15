"""The package of a new device and the conformance suite: whole it passes all of it; where a part is
missing or wrong, the suite says which step that is of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from npu_target.conformance.steps import STEPS
from npu_target.new_device.package import write_package

NAME = "fresh_npu"
_INSTALL = ("-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index")


def run(*arguments: str, path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Python in another folder, with a path on which it finds packages."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(path)},
    )


def suite(
    *arguments: str, path: Path, folder: Path, file: str = ""
) -> subprocess.CompletedProcess[str]:
    """The suite, or one file of it."""
    options = ("-q", "-p", "no:cacheprovider", "--pyargs", f"npu_target.conformance{file}")
    return run("-m", "pytest", *options, "--device", NAME, *arguments, path=path, folder=folder)


@pytest.mark.slow
@pytest.mark.rpc
def test_it_passes_when_pip_has_installed_it(tmp_path: Path) -> None:
    package, site = tmp_path / "package", tmp_path / "site"
    write_package(NAME, package)
    done = run(*_INSTALL, "--target", str(site), str(package), path=site, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    own = run("-m", "pytest", "-q", "package/tests", path=site, folder=tmp_path)
    assert own.returncode == 0, own.stdout + own.stderr
    done = suite("-n", "2", path=site, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package that is installed as it lies there: its sources, their entry points beside them."""
    write_package(NAME, tmp_path / "package")
    source = tmp_path / "package" / "src"
    installed = source / f"{NAME}-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 0.1.0\n")
    points = f"[npu_target.devices]\n{NAME} = {NAME}.kind:KIND\n"
    (installed / "entry_points.txt").write_text(points)
    return source


def change(place: Path, old: str, new: str) -> None:
    """Write something else into a file."""
    text = place.read_text("utf-8")
    assert old in text
    place.write_text(text.replace(old, new), "utf-8")


@pytest.mark.long
@pytest.mark.parametrize(
    ("file", "old", "new", "step", "reason"),
    [
        ("kind.py", "KIND = ", "MINE = ", 1, "no device is called 'fresh_npu'"),
        ("limits.def", "FIELD(queue_entries, 1, 64)\n", "", 1, "every number has its limits"),
        (
            "limits.def",
            "OF_TWO(lanes)",
            "OF_2(lanes)",
            1,
            "limits.def:11: 'POWER_OF_2(lanes)' is no",
        ),
        ("commands.py", "COMMANDS = ", "MINE = ", 2, "commands_at is 'fresh_npu.commands:COMMANDS"),
        ("simulator.py", "def simulate", "def other", 3, "simulator_at is 'fresh_npu.simulator"),
        ("numbers.py", "NUMBERS = ", "MINE = ", 4, "numbers_at is 'fresh_npu.numbers:NUMBERS'"),
        ("copies.py", "Emission(Emission)", "Mine(Emission)", 4, "emission_at is 'fresh_npu"),
        ("compute.py", "overwrites=overwrites", "overwrites=True", 4, "Mismatched elements"),
    ],
)
def test_the_suite_says_which_step_is_missing(
    package: Path, file: str, old: str, new: str, step: int, reason: str
) -> None:
    change(package / NAME / file, old, new)
    done = suite("-x", path=package, folder=package)
    said = done.stdout + done.stderr
    assert done.returncode not in (0, 5), said
    assert f"step {step}, {STEPS[step - 1].title}, is not done yet" in said
    assert reason in said


@pytest.mark.long
@pytest.mark.parametrize(
    ("file", "old", "new", "run", "step"),
    [
        ("limits.def", "FIELD(queue_entries, 1, 64)\n", "", ".test_step1_manifest", 1),
        ("kind.py", "KIND = ", "MINE = ", ".test_step2_commands", 1),
        ("simulator.py", "def simulate", "def other", ".test_step3_programs", 3),
    ],
)
def test_one_file_of_the_suite_says_it_too(
    package: Path, file: str, old: str, new: str, run: str, step: int
) -> None:
    """As the page of a port has it: node ids do not name the file then."""
    change(package / NAME / file, old, new)
    done = suite(path=package, folder=package, file=run)
    assert f"step {step}, {STEPS[step - 1].title}, is not done yet" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"matmul", ', '"matmull", ', "unknown operator 'matmull'; known: add, "),
        (
            "MULTIPLY, config.lanes)",
            "MULTIPLY, config.lanes), row_elements=7 * config.lanes",
            "Give the operator examples that the device takes, or a `padded`",
        ),
        (
            "Features(step=MultiplyStep(MULTIPLY, config.lanes))",
            "Features()",
            "matmul is computed by a step that multiplies, and fresh_npu has none",
        ),
    ],
)
def test_an_operator_without_examples_keeps_no_test_from_running(
    package: Path, old: str, new: str, reason: str
) -> None:
    change(package / NAME / "kind.py", old, new)
    names = "examples or repeat or missing or log"
    done = suite("-k", names, path=package, folder=package, file=".test_step4_operators")
    assert f"step 4, {STEPS[3].title}, is not done yet" in done.stdout
    assert "1 failed" in done.stdout and "test_every_operator_has_its_examples" in done.stdout
    assert " passed" in done.stdout and "errors" not in done.stdout
    assert reason in done.stdout


@pytest.mark.long
def test_commands_that_cannot_be_imported_keep_no_test_from_running(package: Path) -> None:
    change(package / NAME / "commands.py", "COMMANDS = ", "MINE = ")
    done = suite("-k", "target or there_are", path=package, folder=package)
    assert "1 failed, 1 passed" in done.stdout


@pytest.mark.long
def test_step_3_needs_no_file_of_step_4(package: Path) -> None:
    for file in ("compute.py", "copies.py"):
        (package / NAME / file).unlink()
    done = suite(path=package, folder=package, file=".test_step3_programs")
    assert done.returncode == 0, done.stdout + done.stderr
