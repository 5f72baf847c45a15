"""What is shown of a compilation."""

from __future__ import annotations

import re

import pytest
from command_lines import compile_operator as command
from command_lines import misuse, refusal
from tvm import tirx
from tvm.s_tir import Schedule

from npu_target.codegen_tir import build_program
from npu_target.device import DEFAULT_DEVICE, preset
from npu_target.jobs import compile as job
from npu_target.pipeline_options import O0, O2, PipelineOptions, flags
from npu_target.program import Program
from npu_target.program.addresses import default_addresses
from npu_target.schedule_rules import default_schedule
from npu_target.stages import ALL, STAGES, StageError, StagePrinter, check_stages
from npu_target.topi import Matmul, MaxPool2d
from npu_target.topi.definition import definition
from npu_target.topi.mac_schedule import schedule_mac
from npu_target.topi.mac_structure import MacStructure
from npu_target.topi.pool_schedule import schedule_pool

CONFIG = preset(DEFAULT_DEVICE)
PRODUCT = Matmul(1, 40, 48, 20)


def product() -> tirx.PrimFunc:
    """Scheduled in tiles of a block of columns, all 40 lines of it."""
    schedule = Schedule(definition(PRODUCT, CONFIG))
    schedule_mac(schedule, MacStructure(), {"blocks": [2, 1], "steps": [1, 3]})
    return schedule.mod["main"]


FUNC = product()


def shown(options: PipelineOptions, stages: str = ALL) -> list[str]:
    texts: list[str] = []
    printer = StagePrinter("product", check_stages([stages]), write=texts.append)
    build_program(FUNC, CONFIG, PRODUCT.name, options=options, show=printer)
    return texts


def names(texts: list[str]) -> list[str]:
    return [text.splitlines()[0].removeprefix("---- product: after ")[:-5] for text in texts]


def test_every_stage_is_shown_once_and_in_order():
    texts = shown(O2)
    assert names(texts) == list(STAGES)
    assert all(len(text.splitlines()) > 2 for text in texts), "one is empty"


def test_what_is_off_is_not_shown():
    rewriting = {"conditions", "rolling", "splitting", "unrolling", "hoisting", "sums", "budget"}
    assert rewriting < set(flags())
    off = rewriting | {"s_tir.InjectSoftwarePipeline"}
    assert names(shown(O0)) == [stage for stage in STAGES if stage not in off]


def test_a_program_is_the_same_with_and_without_onlookers():
    texts = shown(O2, "budget")
    program = build_program(FUNC, CONFIG, PRODUCT.name)
    assert texts == [f"---- product: after budget ----\n{program.text}"]


def test_files(tmp_path):
    printer = StagePrinter("product", check_stages(["scheduled", "placed", "c"]), tmp_path)
    build_program(FUNC, CONFIG, PRODUCT.name, options=O0, show=printer)
    files = sorted(path.name for path in (tmp_path / "product").iterdir())
    assert files == ["00_scheduled.py", "01_placed.txt", "02_c.c"]
    text = (tmp_path / "product" / "01_placed.txt").read_text()
    assert re.search(r"store   accumulator row 16\*i\d+ -> out byte 16\*i\d+ \+ 320\*i\d+, ", text)


def test_copies_of_windows_and_conditions_have_a_text():
    pool = MaxPool2d(1, 28, 28, 64, 3, 2, (1, 1, 1, 1))
    texts: list[str] = []
    printer = StagePrinter("pool", check_stages(["placed", "statements"]), write=texts.append)
    schedule = Schedule(definition(pool, CONFIG))
    tiles = {"n": [1, 1], "cb": [1, 4], "y": [14, 1], "xx": [2, 7]}
    schedule_pool(schedule, CONFIG.memories, True, tiles)
    build_program(schedule.mod["main"], CONFIG, pool.name, options=O0, show=printer)
    assert "rows of windows x" in texts[1]
    assert " if 0 <= " in texts[1]


def test_commands_name_the_addresses_of_constants_too():
    device = preset("vta-1x16x16")
    operator = Matmul(1, 4, 32, 16).kernel()
    texts: list[str] = []
    printer = StagePrinter("product", check_stages(["commands"]), write=texts.append)
    func = default_schedule(operator, device).mod["main"]
    program = build_program(func, device, operator.name, show=printer)
    assert program.constants
    [text] = texts
    addresses = default_addresses(program, first=0)
    for constant in program.constants:
        assert f", {constant.name} at {addresses[constant.name]:#x}" in text


@pytest.mark.parametrize("name", ["nothing", "", "C"])
def test_what_is_no_stage(name):
    with pytest.raises(StageError, match=f"'{name}'; there are: all, scheduled, npu.hide_padding"):
        check_stages(["placed", name])


# ---- npu-target compile ------------------------------------------------------------


def test_a_command_compiles_an_operator(tmp_path, capsys):
    file = tmp_path / "product.npu"
    assert command(["matmul(m=40, k=48, n=20)"]) == 0
    printed = capsys.readouterr().out
    assert command(["matmul(m=40, k=48, n=20)", "-o", str(file)]) == 0
    program = Program.load(file)
    assert printed == f"{program}\n"
    default = default_schedule(PRODUCT, CONFIG).mod["main"]
    assert program == build_program(default, CONFIG, PRODUCT.name)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["matmul(m=4, h=2)"], "has no attribute h; k, n not given; needs batch"),
        (["nothing(m=4)"], "argument OPERATOR: unknown operator 'nothing'"),
        (["matmul"], "'matmul' is no operator; write one as conv2d(h=28"),
        (["matmul(m=4, k=4, n=4, scale=nan)"], "is no operator; write one as conv2d(h=28"),
        (["matmul(m=4, k=4, n=4)", "--print-ir-after", "it"], "no pass is called 'it'"),
    ],
)
def test_what_is_no_operator_and_no_stage_is_a_wrong_option(words, said, capsys):
    assert said in misuse(command, capsys, *words)


@pytest.mark.parametrize("option", ["-o", "--print-ir-to"])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(option, capsys, monkeypatch):
    monkeypatch.setattr(job, "choose_defaults_together", None)
    words = ["matmul(m=4, k=4, n=4)", "--print-ir-after=placed"]
    said = refusal(command, capsys, *words, option, "/dev/null/x")
    assert said.startswith("/dev/null/x cannot be written")


def test_a_folder_for_stages_needs_some(capsys, tmp_path):
    words = ["matmul(m=4, k=4, n=4)", "--print-ir-to", str(tmp_path / "ir")]
    assert "--print-ir-to: needs --print-ir-after PASS" in misuse(command, capsys, *words)
    assert not (tmp_path / "ir").exists()


def test_a_command_knows_its_pipelines(capsys):
    with pytest.raises(SystemExit):
        command(["matmul(m=4, k=4, n=4)", "--pipeline", "O0,+speed"])
    assert "with one of prefetching" in capsys.readouterr().err
