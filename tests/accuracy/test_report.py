"""The table of differences in 80 columns."""

import io

import pytest
from rich.console import Console

from npu_target.accuracy.ranks import Ranks
from npu_target.accuracy.report import ITS_INTEGERS, Report, Row, print_report
from npu_target.numerics.differences import Apart


@pytest.mark.parametrize("reference", [ITS_INTEGERS, "the float network"])
def test_no_number_is_cut(reference):
    alone = Apart(12_845_056, 4_000_000, 255, 1e9, 3e3)
    behind = Apart(12_845_056, 12_000_000, 254, 1e9, 4e7)
    row = Row("backbone_layer1_0_conv1_Relu", "device", "zero point in the bias", "", alone, behind)
    out = io.StringIO()
    report = Report("net", "gemmini-16x16", reference, 1, (row,), (behind,), Ranks(None))
    print_report(Console(file=out, width=80), report)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert max(map(len, lines)) <= 80
    (first,) = (line for line in lines if line.lstrip().startswith("backbone"))
    numbers = ["12,845,056", "255", "55.2", "254", "14.0"]
    if reference == ITS_INTEGERS:
        numbers = ["12,845,056", "31.140%", "255", "93.421%", "254", "14.0"]
    assert first.split()[-len(numbers) :] == numbers
    (end,) = (line for line in lines if "output 0" in line)
    assert end.split()[2:] == ["12,845,056", *numbers[-3 if reference == ITS_INTEGERS else -2 :]]
