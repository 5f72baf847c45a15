"""Program order: as the schedule asks for it, or the pipeline."""

from __future__ import annotations

import pytest
from kernel_runs import check_schedule
from tvm.s_tir import Schedule

from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.device_api import host_cost, program_cycles
from npu_target.pipeline_options import DEFAULT, PipelineOptions
from npu_target.topi import Add, Matmul
from npu_target.topi.mac_operator import MacOperator
from npu_target.topi.mac_schedule import schedule_mac
from npu_target.topi.mac_structure import MacStructure

CONFIG = preset("gemmini-16x16")
NO_OVERLAP = PipelineOptions.parse("O2,-overlap")
ADD = Add(196, 256, 16)
ADD_TILES = {"blocks": [4, 4], "steps": [13, 1]}
PRODUCT = Matmul(1, 64, 256, 64, bias=False)
PRODUCT_TILES = {"blocks": [2, 2], "steps": [4, 1]}


def scheduled(operator: MacOperator, tiles: dict[str, list[int]], *, in_order: bool) -> Schedule:
    schedule = Schedule(operator.prim_func(CONFIG))
    structure = MacStructure(
        kept=True, two_sums=True, wide=True, step_order="kernel_first", in_order=in_order
    )
    schedule_mac(schedule, structure, tiles)
    return schedule


def program(schedule: Schedule, operator: MacOperator, pipeline: PipelineOptions) -> bytes:
    func = schedule.mod["main"]
    return build_program(func, CONFIG, operator.name, None, pipeline).to_bytes()


@pytest.mark.parametrize(("operator", "tiles"), [(ADD, ADD_TILES), (PRODUCT, PRODUCT_TILES)])
def test_a_marked_schedule_is_compiled_as_if_nothing_overlapped(operator, tiles):
    in_order = scheduled(operator, tiles, in_order=True)
    plain = scheduled(operator, tiles, in_order=False)
    found = program(in_order, operator, DEFAULT)
    assert found == program(plain, operator, NO_OVERLAP)
    assert found != program(plain, operator, DEFAULT)
    check_schedule(operator, in_order, CONFIG)


def test_small_tiles_overlap_by_themselves_with_less_code():
    """The queues hold a tile's commands: the next one's loads do not wait for this one's steps."""
    in_order, overlapped = (
        program(scheduled(ADD, ADD_TILES, in_order=mark), ADD, DEFAULT) for mark in (True, False)
    )
    assert host_cost(in_order).once_cycles < 0.7 * host_cost(overlapped).once_cycles
    assert program_cycles(in_order) < 1.02 * program_cycles(overlapped)
