"""The benchmark of default schedules: its operators, its measure, and that a run goes on."""

import pytest

from benchmarks.default_quality import DEVICES, Quality, load, measure, report, save
from benchmarks.random_operators import draw_operators
from npu_target.topi import Matmul


def test_a_seed_says_which_operators():
    config = DEVICES["gemmini-32x32"]
    drawn = draw_operators(3, 14, config)
    assert drawn == draw_operators(3, 14, config)
    assert drawn != draw_operators(4, 14, config)
    assert len({operator.op for operator in drawn}) >= 4
    assert len(set(drawn)) == 14


def test_the_best_is_no_worse_than_the_default():
    result = measure(Matmul(1, 64, 64, 64), DEVICES["gemmini-half"], trials=6, seed=1)
    assert 0 < result.best_cycles <= result.default_cycles
    assert 0 < result.trials <= 6


def test_a_run_goes_on(tmp_path):
    path = tmp_path / "quality.json"
    results = [Quality("gemmini-8x8", "one", "{}", 120, 100, 7)]
    save(path, results, seed=2, trials=7)
    assert load(path, seed=2, trials=7) == results
    with pytest.raises(ValueError, match="has what --seed 2 --trials 7 measured"):
        load(path, seed=3, trials=7)
    assert load(tmp_path / "none.json", seed=2, trials=7) == []
    assert "| gemmini-8x8 | 1 | 20.0% | 20.0% | 20.0% | 1 |" in report(results, 2, 7)
    assert path.with_suffix(".md").read_text() == report(results, 2, 7)


def test_a_report_says_what_a_device_is_that_is_no_preset():
    assert "gemmini-half" not in report([Quality("gemmini-8x8", "one", "{}", 2, 2, 1)], 2, 7)
    text = report([Quality("gemmini-half", "one", "{}", 2, 2, 1)], 2, 7)
    assert "`gemmini-half` is `gemmini-16x16` with half" in text


@pytest.mark.parametrize(
    "text", ["", "# A report", "[]", '{"seed": 2, "trials": 7, "results": [{}]}']
)
def test_another_file_is_left_alone(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="is no file of this benchmark"):
        load(path, seed=2, trials=7)
