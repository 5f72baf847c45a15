"""Ranges are observed once for the same network on the same inputs."""

from __future__ import annotations

import time

import numpy as np
import pytest
from relax_functions import constant, function_of
from tvm import relax

from npu_target import kept
from npu_target.device.shift_rule import ShiftRule
from npu_target.quantize import QuantizeError, QuantizeOptions, kept_ranges, quantize
from npu_target.quantize.calibrate import Method, observe

SHAPE = (3, 16)


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Where they are kept, also of small networks; what was edited a moment ago is code."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_ranges, "_LEAST_SECONDS", 0.0)
    monkeypatch.setattr(kept, "_began_at", time.time)
    kept._version.cache_clear()
    yield tmp_path / "cache" / "npu_target" / "ranges"
    kept._version.cache_clear()


@pytest.fixture
def observed(monkeypatch):
    """A list that grows by each time that ranges are observed."""
    found = []

    def counted(*arguments):
        found.append(arguments)
        return observe(*arguments)

    monkeypatch.setattr(kept_ranges, "observe", counted)
    return found


def values(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def network(weight=None, limit=1.5, clips_first=False):
    weight = values(16, 8, seed=1) if weight is None else weight

    def body(emit, x):
        if clips_first:
            x = emit(relax.op.clip(x, 0.0, limit))
        y = emit(relax.op.matmul(x, constant(weight)))
        return y if clips_first else emit(relax.op.clip(y, 0.0, limit))

    return function_of([SHAPE], body)


def inputs(count=2, seed=2):
    return [values(*SHAPE, seed=seed + i) for i in range(count)]


def test_the_same_network_on_the_same_inputs_is_observed_once(observed):
    first = quantize(network(), inputs())
    assert len(observed) == 1
    again = quantize(network(), inputs())
    assert len(observed) == 1
    assert again.scales == first.scales
    in_lists = quantize(network(), [[value] for value in inputs()])
    assert len(observed) == 1 and in_lists.scales == first.scales


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("rule", [None, ShiftRule()])
def test_what_is_kept_gives_every_scale(observed, method, rule, monkeypatch, tmp_path):
    rules = {} if rule is None else {"rule": rule}
    quantize(network(), inputs())  # by the usual method
    options = QuantizeOptions(activations=method)
    found = quantize(network(), inputs(), options, **rules)
    assert len(observed) == 1
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    assert quantize(network(), inputs(), options, **rules).scales == found.scales
    assert len(observed) == 2


def next_to(array):
    """The same but for the last bit of the last element."""
    array = array.copy()
    array[..., -1, -1] = np.nextafter(array[..., -1, -1], np.float32(9))
    return array


@pytest.mark.parametrize(
    "other",
    [
        lambda: (network(next_to(values(16, 8, seed=1))), inputs()),
        lambda: (network(values(16, 24, seed=1)), inputs()),
        lambda: (network(limit=np.nextafter(1.5, 2)), inputs()),
        lambda: (network(clips_first=True), inputs()),
        lambda: (network(), [inputs()[0], next_to(inputs()[1])]),
        lambda: (network(), inputs()[::-1]),
        lambda: (network(), inputs(1)),
        lambda: (network(), inputs(3)),
    ],
    ids=["weight", "shape", "attribute", "order", "input", "order of inputs", "fewer", "more"],
)
def test_anything_else_is_observed_anew(observed, other):
    quantize(network(), inputs())
    mod, others = other()
    quantize(mod, others)
    assert len(observed) == 2
    quantize(network(), inputs())
    quantize(mod, others)
    assert len(observed) == 2


def test_another_choice_of_what_is_integer_is_observed_anew(observed):
    mod = network()
    quantize(mod, inputs())
    quantize(mod, inputs(), QuantizeOptions(keep_float=frozenset(["lv"])))
    assert len(observed) == 2


def test_what_cannot_be_read_is_observed_and_written_anew(observed, folder):
    found = quantize(network(), inputs())
    (file,) = folder.glob("*/*")
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    for _ in range(2):
        assert quantize(network(), inputs()).scales == found.scales
        assert len(observed) == 2 and file.read_bytes() == whole


def test_what_is_quick_is_not_kept(observed, folder, monkeypatch):
    monkeypatch.setattr(kept_ranges, "_LEAST_SECONDS", 3600)
    quantize(network(), inputs())
    quantize(network(), inputs())
    assert len(observed) == 2 and not folder.exists()


def test_errors_are_those_of_observing(observed, folder):
    wrong = values(*SHAPE)
    wrong[2, 3] = np.inf
    for _ in range(2):
        with pytest.raises(QuantizeError, match="x0: a value is infinite"):
            quantize(network(), [*inputs(1), wrong])
        with pytest.raises(QuantizeError, match="at least one input"):
            quantize(network(), [])
        with pytest.raises(QuantizeError, match=r"calibration input 1: .* must be"):
            quantize(network(), [*inputs(1), values(4, 16)])
    assert not folder.exists()


def test_progress_counts_what_is_run(observed):
    for expected in ([0, 1], []):
        seen = []
        quantize(network(), inputs(), progress=seen.append)
        assert seen == expected
