"""The table of what a whole network takes."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from npu_target.device import preset
from npu_target.export.times import LayerTime, NetworkTime
from npu_target.topi import Conv2d
from npu_target.tuning.layers import Layer
from npu_target.tuning.report import DEFAULT, LayerResult
from npu_target.whole_network import print_network

CONFIG = preset("gemmini-16x16")
RESULTS = [LayerResult(Layer(Conv2d(1, 16, 16, 16, 16, 1, 1), 2), 700_000, 600_000, DEFAULT)]
KERNELS = (LayerTime("conv1", 590_000, "conv1"), LayerTime("conv2", 580_000, "conv2"))
TIME = NetworkTime((LayerTime("host_quantize", 30_000), *KERNELS))


def printed(time: NetworkTime | None, width: int = 80, runner: str = "") -> str:
    console = Console(file=io.StringIO(), width=width)
    print_network(console, RESULTS, CONFIG, time, runner=runner)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("runner", ["", "fpga"])
def test_sums_alone_in_sequence_and_with_the_host(width: int, runner: str) -> None:
    lines = printed(TIME, width, runner).splitlines()
    assert all(len(line) <= width for line in lines)
    table = [line for line in lines[lines.index("") + 1 :] if line.strip()]
    assert [line.split()[-2:] for line in table[2:]] == [
        ["1,200,000", "2.40"],
        ["1,170,000", "2.34"],
        ["30,000", "0.06"],
        ["1,200,000", "2.40"],
    ]
    assert ("measured by fpga" in "".join(lines)) == bool(runner)


def test_a_network_all_on_the_device_has_no_line_of_the_host() -> None:
    assert "host" not in printed(NetworkTime(KERNELS))


def test_what_is_not_known_is_left_out() -> None:
    assert "the whole network" not in printed(None)
