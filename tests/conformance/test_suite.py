"""The suite itself: what it runs on. What it says where a part of a port is missing, is tested on a
new device's package, in tests/new_device."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from npu_target import conformance
from npu_target.conformance.steps import STEPS, step_of

TESTS = Path(__file__).parents[1]


def run_suite(*arguments: str, path: Path = TESTS) -> subprocess.CompletedProcess[str]:
    """With the packages in a folder installed."""
    found = os.pathsep.join([str(path), str(TESTS)])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": found},
        cwd=TESTS.parent / "docs",  # without this project's own options of pytest
    )


def suite(file: str = "") -> list[str]:
    return ["--pyargs", "npu_target.conformance" + (f".{file}" if file else "")]


def test_every_step_has_its_files() -> None:
    folder = Path(str(conformance.__file__)).parent
    found = [step_of(path.name) for path in sorted(folder.glob("test_*.py"))]
    assert list(dict.fromkeys(found)) == list(STEPS), "in their order"
    assert [step.number for step in STEPS] == list(range(1, len(STEPS) + 1))


@pytest.mark.long
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


def install(folder: Path, package: str, device: str) -> None:
    """Leave the entry point of a device where pip would."""
    installed = folder / f"{package}-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    (installed / "entry_points.txt").write_text(f"[npu_target.devices]\n{device}\n")


@pytest.mark.long
def test_a_device_with_a_fixed_function_passes_every_step(tmp_path: Path) -> None:
    """It runs no schedules: a whole product is a job, described by a few commands."""
    install(tmp_path, "job_device", "job = job_device.kind:KIND")
    done = run_suite(*suite(), "--device", "job-8", path=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " failed" not in done.stdout
