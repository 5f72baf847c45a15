"""The tables of choices: what they say, in 80 columns."""

import io

from rich.console import Console

from npu_target.accuracy.choices import Choice, Choices, Network, Way
from npu_target.accuracy.choices_report import choices_json, print_choices
from npu_target.accuracy.layer_costs import REST, Cost
from npu_target.accuracy.ranks import Ranks
from npu_target.numerics import EXACT, FAST, Layer
from npu_target.numerics.differences import Apart


def way(where, cost, apart=None):
    return Way(Layer("name", "requantize", where == "device", True, "form", "why"), cost, apart)


def example():
    """The widest numbers that networks have."""
    name = "backbone_layer1_0_conv1_BatchNorm_FusedBatchNormV3"
    rows = (
        Choice(
            name,
            way("host", Cost(12_345_678, 123_456_789)),
            way("device", Cost(9_345_678, 0), Apart(1000, 123, 3)),
            EXACT,
            True,
        ),
        Choice(
            "worse",
            way("host", Cost(10, 20)),
            way("device", Cost(5, 0), Apart(1000, 999, 128)),
            "device",
            False,
        ),
        Choice("same", way("device", Cost(10, 0)), None, EXACT, True),
        Choice("softmax", way("host", Cost(0, None)), None, EXACT, False),
        Choice(REST, Way(None, Cost(0, 77)), None, "", False),
    )
    networks = (
        Network(EXACT, Cost(12_345_698, None), Apart(10), Ranks([1], {1: 1, 5: 1}, {1: 1, 5: 1})),
        Network(FAST, Cost(9_345_698, 20), Apart(10, 2, 3), Ranks([1], {1: 1, 5: 1})),
    )
    return Choices("net", "gemmini-16x16", 1, rows, networks)


def printed(width):
    out = io.StringIO()
    print_choices(Console(file=out, width=width), example())
    return out.getvalue()


def test_in_80_columns_no_number_is_cut():
    lines = [line.rstrip() for line in printed(80).splitlines()]
    assert max(map(len, lines)) <= 80 and not any("…" in line for line in lines)
    (first,) = (line for line in lines if "backbone" in line)
    assert first.split()[1:] == ["12,345,678", "123.5M", "9,345,678", "-", "12.300%", "3", "exact"]


def test_says_what_fast_leaves_exact_and_what_is_not_known():
    lines = {
        line.split()[0]: line.split()[1:] for line in printed(120).splitlines() if line.strip()
    }
    assert lines["worse"] == ["10", "20", "5", "-", "99.900%*", "128", "device"]
    assert lines["same"] == ["10", "-", "same", "exact"]
    assert lines["softmax"] == ["-", "?", "exact"]
    assert lines["(the"] == ["rest)", "-", "77"]
    assert lines["*"][:4] == ["too", "far", "off", "for"]
    assert lines["fast"] == ["9,345,698", "20", "20.000%", "3", "0.00%", "0.00%"]


def test_for_machines():
    found = choices_json(example())
    assert [layer["chosen"] for layer in found["layers"]] == [
        "exact",
        "device",
        "exact",
        "exact",
        None,
    ]
    first, *_, softmax, rest = found["layers"]
    assert first["exact"]["where"] == "host" and first["device"]["alone"]["differ"] == 123
    assert softmax["exact"]["host_instructions"] is None and softmax["device"] is None
    assert rest["exact"] == {"cycles": 0, "host_instructions": 77}
    assert found["networks"]["fast"]["outputs"]["most"] == 3
    assert found["networks"]["exact"]["top5"] == 1
