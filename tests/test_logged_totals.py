"""What the committed tuning logs are worth, in cycles, so that it cannot get worse unnoticed.

`logged_totals.json` has for each model the layers as a build runs them. After tuning:

    pytest tests/test_logged_totals.py --update-logged-totals

writes it anew. A total that went up is refused: what made it so is to be mended, or tuned away.
Totals of devices with other numbers say nothing of each other: an entry says which its is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_lines import build

from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.files import write_atomically
from npu_target.models import MODELS
from npu_target.schedule_rules.host_bounds import ranked_cycles
from npu_target.tuning.choose import Chooser
from npu_target.tuning.header import Header
from npu_target.tuning.log import TuningLog, read_log
from npu_target.tuning.network import load_network
from npu_target.tuning.report import TUNED, LayerResult
from npu_target.tuning.schedules import default_of, tuned_schedule
from npu_target.tuning.workload import operator_of

CONFIG = preset("gemmini-16x16")
LOGS = Path(__file__).parents[1] / "tuning_logs"
TABLE = Path(__file__).with_name("logged_totals.json")
MODELS_IN_TABLE = sorted(json.loads(TABLE.read_text(encoding="utf-8")))


def read_table() -> dict[str, Any]:
    return json.loads(TABLE.read_text(encoding="utf-8"))


def log_of(model: str) -> TuningLog:
    folder = LOGS / CONFIG.name / model
    assert folder.is_dir(), f"{model} is in {TABLE.name}, but there is no {folder}"
    return read_log(folder, Header.of(CONFIG, model, "pytest"))


def best_of(log: TuningLog) -> dict[str, int]:
    """The fewest cycles that the logs have of each layer."""
    return {
        operator_of(workload.mod).name: round(records[0].seconds * CONFIG.clock_khz * 1e3)
        for workload in log.workloads
        if (records := log.records_of(workload.mod))
    }


def ranks_of(name: str, log: TuningLog) -> list[float]:
    """By what a build compares the default of a layer and the fastest that the logs have."""
    (operator,) = {
        operator
        for workload in log.workloads
        if (operator := operator_of(workload.mod)).name == name
    }
    schedules = [default_of(operator, CONFIG), tuned_schedule(operator, CONFIG, log)]
    return [
        ranked_cycles(build_program(schedule.mod["main"], CONFIG, name).to_bytes())
        for schedule in schedules
    ]


def total_of(layers: dict[str, dict[str, Any]]) -> int:
    return sum(layer["count"] * layer["cycles"] for layer in layers.values())


def as_entry(results: list[LayerResult]) -> dict[str, Any]:
    layers = {
        result.layer.name: {
            "count": result.layer.count,
            "cycles": result.cycles,
            "schedule": result.source,
        }
        for result in results
    }
    return {"device_hash": CONFIG.hash, "total_cycles": total_of(layers), "layers": layers}


def updated(table: dict[str, Any], model: str, entry: dict[str, Any]) -> dict[str, Any]:
    """The table with a model's new entry. Raises AssertionError where its total went up."""
    if model in table and table[model]["device_hash"] == entry["device_hash"]:
        before, now = table[model]["total_cycles"], entry["total_cycles"]
        assert now <= before, (
            f"{model} takes {now:,} cycles, more than the {before:,} before: tune it further, or "
            "mend what made it slower"
        )
    return {**table, model: entry}


def test_the_table_has_every_model_that_has_logs(request):
    logged = {folder.name for folder in (LOGS / CONFIG.name).iterdir() if folder.is_dir()}
    if request.config.getoption("--update-logged-totals"):
        for model in sorted(logged):
            layers = load_network(model, CONFIG).layers
            entry = as_entry(Chooser(CONFIG, log_of(model)).results(layers))
            text = json.dumps(updated(read_table(), model, entry), indent=2, sort_keys=True)
            write_atomically(TABLE, (text + "\n").encode())
    assert set(read_table()) == logged
    assert logged <= set(MODELS)


@pytest.mark.parametrize("model", MODELS_IN_TABLE)
def test_the_totals_are_those_of_the_logs(model):
    entry = read_table()[model]
    assert entry["device_hash"] == CONFIG.hash
    log = log_of(model)
    best = best_of(log)
    for name, layer in entry["layers"].items():
        if layer["schedule"] == TUNED:
            assert best.get(name) == layer["cycles"], name
        elif best.get(name, layer["cycles"]) < layer["cycles"]:
            default, tuned = ranks_of(name, log)  # faster, but over a bound of the host's
            assert default <= tuned, name
    assert set(best) <= set(entry["layers"])
    assert total_of(entry["layers"]) == entry["total_cycles"]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS_IN_TABLE)
def test_a_build_takes_exactly_the_cycles_of_the_table(model, tmp_path):
    report = tmp_path / "build.json"
    output = tmp_path / f"{model}.so"
    arguments = ["--model", model, "--logs", str(LOGS), "-o", str(output), "--json", str(report)]
    assert build(arguments) == 0
    built = json.loads(report.read_text(encoding="utf-8"))
    entry = read_table()[model]
    assert {
        layer["name"]: {key: layer[key] for key in ("count", "cycles", "schedule")}
        for layer in built["layers"]
    } == entry["layers"]
    assert built["total_cycles"] == entry["total_cycles"]


def test_a_total_that_went_up_is_refused():
    layer = {"count": 2, "cycles": 10, "schedule": "tuned"}
    device = {"device_hash": "1"}
    table = {"m": {**device, "total_cycles": 20, "layers": {"a": layer}}}
    better = {**device, "total_cycles": 18, "layers": {"a": {**layer, "cycles": 9}}}
    worse = {**device, "total_cycles": 22, "layers": {"a": {**layer, "cycles": 11}}}
    assert updated(table, "m", better)["m"] == better
    assert updated({}, "m", worse)["m"] == worse
    with pytest.raises(AssertionError, match="more than the 20 before"):
        updated(table, "m", worse)
    other = {**worse, "device_hash": "2"}
    assert updated(table, "m", other)["m"] == other
