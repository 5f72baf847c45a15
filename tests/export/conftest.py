"""The small network as an export, for all tests of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_lines import export as main


@pytest.fixture(scope="module")
def exported(tiny_model, tmp_path_factory) -> Path:
    """By default schedules; DIR.json beside it."""
    folder = tmp_path_factory.mktemp("export") / "net"
    arguments = ["--model=tiny", "--logs=none", f"--output={folder}", f"--json={folder}.json"]
    assert main(arguments) == 0
    return folder
