"""What a report of a network shows is what a build says."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from npu_target.html_report.search import search_curves


@pytest.mark.long
def test_layers_are_those_of_the_build(document):
    layers, totals = document["layers"], document["totals"]
    assert [layer["number"] for layer in layers] == list(range(1, len(layers) + 1))
    assert totals["cycles"] == sum(layer["count"] * layer["cycles"] for layer in layers)
    assert totals["layers"] == sum(layer["count"] for layer in layers)
    for layer in layers:
        assert layer["simulated_cycles"] == layer["cycles"]
        assert layer["measured_cycles"] is None
        assert sum(layer["breakdown"].values()) == layer["cycles"]
        assert 0 < layer["bounds"]["share"] <= 1
        assert layer["over_time"]["cycles"] == layer["cycles"]


def test_no_layer_is_above_the_roof(document):
    peak, link = document["device"]["peak_macs"], document["device"]["links"][-1]
    for layer in document["layers"]:
        place = layer["roofline"]
        assert (place is None) == (layer["macs"] == 0)
        if place is not None:
            slope = place["macs_per_byte"] * link["bytes_per_cycle"]
            assert place["macs_per_cycle"] <= min(peak, slope)


def test_the_graph_has_every_region_with_its_layer(document):
    rows = [row for row in document["graph"] if row["where"] == "device"]
    assert len(rows) == document["totals"]["layers"]
    for row in rows:
        layer = document["layers"][row["layer"] - 1]
        assert row["cycles"] == layer["cycles"]
        assert layer["op"] in row["why"]
    assert {row["where"] for row in document["graph"]} == {"device", "host"}
    assert document["graph"][0]["into"] == [] and document["graph"][-1]["out"] is False
    # Its residual block: a value that waits while others are computed.
    assert any(row["through"] for row in document["graph"])


def test_what_layers_take_in_sequence_is_there(document):
    calls = document["in_sequence"]["layers"]
    on_device = [call for call in calls if call["on_device"]]
    assert len(on_device) == document["totals"]["layers"]
    assert sum(call["cycles"] for call in on_device) == document["in_sequence"]["device_cycles"]


def test_runs_in_sequence_are_those_of_the_layers(document):
    calls = [call for call in document["in_sequence"]["layers"] if call["on_device"]]
    for layer in document["layers"]:
        assert len(layer["in_sequence_cycles"]) == layer["count"]
    runs = [cycles for layer in document["layers"] for cycles in layer["in_sequence_cycles"]]
    assert sorted(runs) == sorted(call["cycles"] for call in calls)
    assert sum(call["alone_cycles"] for call in calls) == document["totals"]["cycles"]


def log_of(measured, failures=(), beneath=None):
    return SimpleNamespace(
        measurements=[{"task": t, "trial": n, "cycles": c} for t, n, c in measured],
        failures=[{"task": t, "kind": "race"} for t in failures],
        beneath=beneath,
    )


def test_search_curves_go_down_over_all_logs():
    beneath = log_of([("a", 0, 100), ("a", 1, 90), ("b", 1, 70)])
    log = log_of([("a", 1, 95), ("a", 2, 80), ("b", 1, 70)], ["a", "a"], beneath)
    assert search_curves(log, ["b", "a", "c"]) == [
        {"name": "b", "trials": 2, "failed": 0, "steps": [[1, 70]]},
        {"name": "a", "trials": 3, "failed": 2, "steps": [[0, 100], [1, 90], [3, 80]]},
    ]


@pytest.mark.parametrize("log", [None, log_of([("a", 0, 100), ("a", 1, 90)])])
def test_layers_that_were_hardly_measured_have_no_curve(log):
    assert search_curves(log, ["a"]) == []
