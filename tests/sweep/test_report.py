"""The table of a sweep."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from npu_target.device import preset
from npu_target.sweep.devices import Point
from npu_target.sweep.report import print_sweep
from npu_target.sweep.results import DeviceResult, LayerCycles

CONFIG = preset("gemmini-16x16")
LAYER = LayerCycles("matmul", 1, 4096, 64, 64)


def device(dim: int, host_operations: int, padded_macs: int) -> DeviceResult:
    layers = (replace(LAYER, macs=padded_macs),)
    return DeviceResult(
        f"d{dim}", {"dim": dim}, dim / 10, 500_000, 256, 4096, host_operations, layers
    )


def printed(*results: DeviceResult) -> str:
    points = [Point(dict(each.numbers), each.area_mm2, CONFIG) for each in results]
    console = Console(width=120, record=True)
    print_sweep(console, "net", points, results)
    return console.export_text()


def test_padding_is_neither_left_out_nor_work() -> None:
    text = printed(device(16, 5, 4096), device(32, 5, 8192))
    assert "*" not in text
    assert text.count(" 25.0% ") == 2


def test_what_is_left_to_the_host_is_marked() -> None:
    text = printed(device(8, 9, 4096), device(16, 5, 4096), device(32, 7, 4096))
    rows = {line.split()[0]: line for line in text.splitlines() if " 25.0% " in line}
    assert ["*" in rows[dim] for dim in ("8", "16", "32")] == [True, False, True]
    assert "* without operations that others here compute: the host has 7, 9 of the" in text
