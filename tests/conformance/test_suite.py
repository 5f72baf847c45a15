"""The suite itself: what it runs on, and what it says where a part of a port is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from npu_target import conformance
from npu_target.conformance.steps import STEPS, step_of

TESTS = Path(__file__).parents[1]


def run_suite(*arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    paths = [str(TESTS), *([] if path is None else [str(path)])]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=TESTS.parent / "docs",  # without this project's own options of pytest
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )


def suite(file: str = "") -> list[str]:
    return ["--pyargs", "npu_target.conformance" + (f".{file}" if file else "")]


def test_every_step_has_a_file() -> None:
    folder = Path(str(conformance.__file__)).parent
    found = [step_of(path.name) for path in sorted(folder.glob("test_*.py"))]
    assert found == list(STEPS)
    assert [step.number for step in STEPS] == list(range(1, len(STEPS) + 1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "npu_target.conformance needs --device NAME"),
        (["--device", "tpu"], "--device tpu: no device is called 'tpu'"),
    ],
)
def test_it_needs_a_device(arguments: list[str], message: str) -> None:
    done = run_suite(*suite("test_step2_commands"), *arguments)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr


def test_a_kind_from_another_package_and_the_step_that_it_lacks(tmp_path: Path) -> None:
    """A package is a folder with its entry points beside it, as pip leaves them."""
    (tmp_path / "broken_device.py").write_text(
        "import tempfile, pathlib\n"
        "from toy_device import toy_kind\n"
        "FOLDER = pathlib.Path(tempfile.mkdtemp())\n"
        'KIND = toy_kind(FOLDER, commands_at="broken_device:COMMANDS")\n'
    )
    installed = tmp_path / "broken_device-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: broken_device\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[npu_target.devices]\ntoy = broken_device:KIND\n")
    done = run_suite(*suite("test_step1_manifest"), "--device", "toy-8", path=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "commands_at is 'broken_device:COMMANDS'" in done.stdout
    assert "step 1, the manifest, is not done yet" in done.stdout
    assert "1 failed, 6 passed" in done.stdout
