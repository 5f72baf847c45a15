"""Traces in plain form, against TVM's own JSON form of them."""

from __future__ import annotations

from tvm.s_tir import Schedule

from npu_target import topi
from npu_target.device import preset
from npu_target.schedule_rules.traces import Structure, to_plain, trace_json
from npu_target.topi.mac_schedule import schedule_mac
from npu_target.topi.mac_structure import MacStructure

CONFIG = preset("gemmini-16x16")


def test_a_trace_in_plain_form_is_tvms_json_form_in_plain_types():
    schedule = Schedule(topi.Conv2d(1, 14, 14, 32, 32, 3, 3).prim_func(CONFIG))
    schedule_mac(schedule, MacStructure(two_sums=True, wide=True, ends=True))
    plain = trace_json(schedule.trace)
    assert plain == to_plain(schedule.trace.simplified(remove_postproc=True).as_json())
    found = set()

    def visit(value):
        found.add(type(value))
        for item in value if isinstance(value, list) else ():
            visit(item)

    visit(plain)
    assert found == {list, str, int, bool}
    assert Structure.of(plain).trace([decision[1] for _, decision in plain[1]]) == plain


def test_a_traces_index_map_is_text():
    schedule = Schedule(topi.Matmul(1, 32, 64, 48).prim_func(CONFIG))
    schedule.transform_layout("load_a", ("write", 0), lambda *indices: indices[::-1])
    assert trace_json(schedule.trace) == to_plain(schedule.trace.as_json())


def test_to_plain_leaves_pythons_own_values_as_they_are():
    value = [None, True, 3, 0.5, "text", {"key": [1, {}]}, []]
    assert to_plain(value) == value
