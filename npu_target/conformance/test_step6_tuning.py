"""Step 6: a search over RPC servers, its logs, and a build from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from npu_target.cli.main import main
from npu_target.conformance.small_network import known_by_name
from npu_target.device import DeviceConfig

_TRIALS = 24


@pytest.fixture(scope="module")
def tuned(
    config: DeviceConfig, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A folder of logs, the device's file in it, and the table of the run as JSON."""
    folder = tmp_path_factory.mktemp("tuned")
    config.save(folder / "device.json")
    with known_by_name() as model:
        options = ["--model", model, "--device", str(folder / "device.json")]
        options += ["--logs", str(folder / "logs"), "--json", str(folder / "tuned.json")]
        assert main(["tune", *options, "--trials", str(_TRIALS), "--servers", "1"]) == 0
        yield folder, json.loads((folder / "tuned.json").read_text(encoding="utf-8"))


def test_candidates_were_measured_and_none_was_wrong(
    tuned: tuple[Path, dict[str, Any]],
) -> None:
    layers = tuned[1]["layers"]
    assert layers
    for layer in layers:
        assert layer["cycles"] <= layer["default_cycles"]


def test_a_build_takes_the_logs(tuned: tuple[Path, dict[str, Any]]) -> None:
    folder, table = tuned
    options = ["--model", "conformance", "--device", str(folder / "device.json")]
    options += ["--logs", str(folder / "logs"), "--require-tuned"]
    options += ["--output", str(folder / "net.so"), "--json", str(folder / "built.json")]
    assert main(["build", *options]) == 0
    built = json.loads((folder / "built.json").read_text(encoding="utf-8"))
    cycles = {layer["name"]: layer["cycles"] for layer in table["layers"]}
    assert {layer["name"]: layer["cycles"] for layer in built["layers"]} == cycles
