"""Tuning by another pipeline: what is measured, and what logs say of it."""

from __future__ import annotations

import json

import pytest
from tvm.s_tir import Schedule

from npu_target.codegen_tir import PIPELINE, build_program
from npu_target.device import preset
from npu_target.pipeline_options import O0, O1
from npu_target.schedule_rules import default_schedule
from npu_target.topi import Matmul
from npu_target.tuning.choose import Chooser
from npu_target.tuning.compiling import CompileJob, compile_trace
from npu_target.tuning.errors import LogError
from npu_target.tuning.header import HEADER_FILE, Header
from npu_target.tuning.workload import workload_module

CONFIG = preset("gemmini-8x8")
PRODUCT = Matmul(1, 64, 64, 64).canonical()


def test_a_header_says_the_pipeline_unless_it_is_the_default(tmp_path):
    usual, other = Header.of(CONFIG, "model", ""), Header.of(CONFIG, "model", "", O1)
    usual.write(tmp_path)
    assert "pipeline" not in json.loads((tmp_path / HEADER_FILE).read_text())
    assert Header.read(tmp_path) == usual
    other.write(tmp_path)
    assert Header.read(tmp_path) == other
    assert other.options == O1


def test_logs_of_another_pipeline_are_refused(tmp_path):
    usual, other = Header.of(CONFIG, "model", ""), Header.of(CONFIG, "model", "", O1)
    with pytest.raises(LogError, match="by pipeline O1, needed O2"):
        other.check_usable_by(usual, tmp_path)


def test_a_pipeline_that_this_version_does_not_know(tmp_path):
    Header.of(CONFIG, "model", "", O1).write(tmp_path)
    path = tmp_path / HEADER_FILE
    path.write_text(path.read_text().replace('"O1"', '"O9"'))
    with pytest.raises(LogError, match="'O9'"):
        _ = Header.read(tmp_path).options


def test_candidates_are_compiled_by_it():
    func = workload_module(PRODUCT, CONFIG)["main"]
    schedule = default_schedule(PRODUCT, CONFIG, func)
    assert isinstance(schedule, Schedule)
    trace = schedule.trace.as_json()
    for options in (O0, O1):
        compiled = compile_trace(CompileJob(PRODUCT, CONFIG, trace, None, options))
        wanted = build_program(schedule.mod["main"], CONFIG, PRODUCT.name, options=options)
        assert compiled.program == wanted.to_bytes()


def test_a_build_compiles_by_it():
    chooser = Chooser(CONFIG, None, pipeline=O0)
    func = chooser.device_function(PRODUCT, CONFIG)
    assert func.attrs[PIPELINE] == "O0"
    plain = Chooser(CONFIG, None).device_function(PRODUCT, CONFIG)
    assert PIPELINE not in plain.attrs
