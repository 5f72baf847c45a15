"""What the reports on the search say of runs that are made up, and a short real run."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks import search_curves, search_kinds, search_speed
from benchmarks.search_runs import COMPILE, DEVICE, SEARCH, Moment, SearchRun, search_from_nothing
from npu_target.device import preset
from npu_target.topi import Add, Conv2d, Matmul
from npu_target.tuning.layers import Layer
from npu_target.tuning.searches import SEARCHES


def made_up(seed: int, *moments: tuple[int, float, int], **layers: int) -> SearchRun:
    run = SearchRun(seed, "both", measured=moments[-1][0], seconds=10.0)
    run.moments = [Moment(*moment) for moment in moments]
    run.layer_cycles = layers
    run.processor_seconds = Counter({SEARCH: 1.0, COMPILE: 2.0, DEVICE: 5.0})
    return run


GOOD = made_up(0, (0, 1.0, 200), (16, 2.0, 101), (32, 3.0, 100), a=100, b=100)
SLOW = made_up(1, (0, 1.0, 200), (2000, 90.0, 101), a=104, b=106)


def test_the_first_moment_at_the_target_is_found():
    assert search_curves.first_within(GOOD, 101) == Moment(16, 2.0, 101)
    assert search_curves.first_within(GOOD, 99) is None


def test_the_aim_is_met_only_if_every_seed_meets_it():
    good = "\n".join(search_curves.curves_markdown([GOOD], 100))
    assert "16 measurements, 2 s" in good and good.endswith(": met.")
    late = "\n".join(search_curves.curves_markdown([GOOD, SLOW], 100))
    assert "2000 measurements" in late and late.endswith(": missed.")
    assert "never" in "\n".join(search_curves.curves_markdown([SLOW], 90))


def test_spaces_that_differ_are_named():
    text = "\n".join(search_curves.spaces_markdown(GOOD, SLOW))
    assert "| a | 100 | 104 | 1.040 |  |" in text and "| b | 100 | 106 | 1.060 | far |" in text
    assert text.endswith("missed on 1.")


def test_curves_are_plotted(tmp_path):
    search_curves.plot([GOOD, SLOW], 100, "title", tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_the_speed_report_adds_up():
    layer = Layer(Add(16, 16, 16), 1)
    text = search_speed.markdown([(layer, GOOD)], {"replay": 7.0}, 10)
    assert "| 3.2 |" in text  # a second
    assert "Needed: 30 a second; has 3.2: missed." in text
    assert "| 250 |" in text  # processor milliseconds each
    assert "| replay | 7.0 |" in text


def test_searches_stand_beside_each_other_layer_by_layer():
    ours, other = made_up(0, (20, 1.0, 200)), made_up(0, (8, 1.0, 200))
    for run in (ours, other):
        run.default_cycles = {"a": 1000, "b": 2000}
    ours.found_cycles, other.found_cycles = {"a": 900, "b": 1500}, {"b": 1600}
    other.failures, other.rejected = {"timed_out": 2, "failed": 1}, {"far": 4, "known": 1}
    lines = search_kinds.markdown({"ours": ours, "other": other}, 20).splitlines()
    assert "| layer | default | ours, cycles | other, cycles |" in lines
    assert "| a | 1,000 | 900 | none |" in lines
    assert "| b | 2,000 | 1,500 | 1,600 |" in lines
    # Measured, not worth it, failed, a second in 10 seconds, of processors.
    assert "| ours | 20 | 0 | 0 | 2.0 | 1.0 | 2.0 |" in lines
    assert "| other | 8 | 5 | 3 | 0.8 | 1.0 | 2.0 |" in lines


def test_the_report_on_searches_is_of_each_with_the_same_measurements(
    tmp_path, monkeypatch, capsys
):
    asked = []

    def search(config, layers, trials, *, search):
        asked.append((config.name, [layer.name for layer in layers], trials, search))
        run = made_up(0, (trials, 1.0, 200))
        run.default_cycles = {layer.name: 10 * len(asked) for layer in layers}
        return run

    monkeypatch.setattr(search_kinds, "search_from_nothing", search)
    output = tmp_path / "report.md"
    assert search_kinds.main(["--trials", "7", "--output", str(output)]) == 0
    names = [layer.name for layer in search_kinds.layers()]
    assert asked == [("gemmini-16x16", names, 7, name) for name in SEARCHES]
    assert capsys.readouterr().out == output.read_text() + "\n"
    assert "--trials 7`" in output.read_text()


def test_searches_of_no_measurements_are_refused(capsys):
    with pytest.raises(SystemExit):
        search_kinds.main(["--trials", "0"])
    assert "--trials: needs at least 1, has 0" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--seeds", "a"], ["--trials", "0"], ["--best", "0"]])
def test_wrong_numbers_are_refused(arguments, capsys):
    with pytest.raises(SystemExit):
        search_curves.main(arguments)
    assert arguments[0] in capsys.readouterr().err


def test_an_unknown_model_is_one_line(capsys):
    assert search_curves.main(["--model", "alexnet"]) == 1
    assert capsys.readouterr().err.startswith(
        "python -m benchmarks.search_curves: error: unknown model 'alexnet'"
    )


@pytest.mark.long
@pytest.mark.rpc
def test_a_run_is_told_as_it_went():
    layers = [Layer(Matmul(1, 40, 64, 48).canonical(), 2)]
    run = search_from_nothing(preset("gemmini-16x16"), layers, 20, servers=1)
    assert run.measured == 20 and run.moments[-1].measurements == 20
    cycles = [moment.cycles for moment in run.moments]
    assert cycles == sorted(cycles, reverse=True)
    assert cycles[-1] == 2 * run.layer_cycles[layers[0].name]
    assert all(run.processor_seconds[role] > 0 for role in (SEARCH, COMPILE, DEVICE))
    assert not run.failures


def test_every_stage_of_a_candidate_is_timed():
    operator = Conv2d(1, 4, 4, 16, 16, 1, 1, (1, 1), (0, 0, 0, 0), True, True).canonical()
    found = search_speed.stages(operator, preset("gemmini-16x16"), 0)
    assert len(found) == 8
    assert all(milliseconds >= 0 for milliseconds in found.values())
    assert found["lowering and code generation"] > found["of that, TVM's lowering passes"] > 0
