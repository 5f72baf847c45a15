"""Which operators are known, and which of them a device has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import ClassVar

import pytest

from npu_target.device import preset
from npu_target.devices.gemmini import GEMMINI
from npu_target.topi import (
    Matmul,
    OperatorError,
    make,
    operators,
    operators_of,
    register_operator,
    registry,
    unregister_operator,
)

CONFIG = preset("gemmini-16x16")


@dataclass(frozen=True)
class Product(Matmul):
    """A product of one's own."""

    op: ClassVar[str] = "product"


@pytest.fixture
def registered() -> Iterator[type[Matmul]]:
    yield register_operator(devices=("gemmini",))(Product)
    unregister_operator("product")


def test_a_device_has_those_of_its_manifest_in_their_order():
    assert [cls.op for cls in operators_of(CONFIG)][: len(GEMMINI.operators)] == list(
        GEMMINI.operators
    )
    assert set(GEMMINI.operators) <= set(operators())


def test_an_operator_from_outside_comes_last_and_can_be_made(registered):
    assert operators_of(CONFIG)[-1] is registered
    operator = registered(1, 2, 3, 4, scale=0.5)
    assert make("product", operator.attrs()) == operator
    # Once more is no other one: a module may be imported twice.
    assert register_operator()(registered) is registered


def test_an_operator_for_no_kind_is_known_and_had_by_none():
    register_operator()(Product)
    try:
        assert "product" in operators()
        assert Product not in operators_of(CONFIG)
    finally:
        unregister_operator("product")
    assert "product" not in operators()


def test_what_is_no_operator_is_refused():
    class NoName(Matmul):
        pass

    @dataclass
    class Thawed:
        op: ClassVar[str] = "thawed"

    class NoFields(Matmul):
        op: ClassVar[str] = "no_fields"

    @dataclass(frozen=True)
    class Taken(Matmul):
        op: ClassVar[str] = "matmul"

    for cls, message in (
        (NoName, "NoName: needs a name of its own"),
        (Thawed, "thawed: Thawed must be a frozen dataclass"),
        (NoFields, "no_fields: NoFields must be a frozen dataclass"),
        (Taken, "matmul: .*Taken has the name of npu_target.topi.matmul:Matmul"),
    ):
        with pytest.raises(OperatorError, match=message):
            register_operator()(cls)
    assert operators()["matmul"] is Matmul


ONE = {"batch": 1, "m": 1, "k": 1, "n": 1}
POOL = {"n": 1, "h": 4, "w": 4, "c": 4, "size": 2, "stride": 2}


@pytest.mark.parametrize(
    ("op", "attrs", "message"),
    [
        ("matmull", {}, "unknown operator 'matmull'; known: add, conv2d"),
        ("matmul", {"batch": 1}, "matmul: m, k, n not given; needs batch, m, k, n, takes bias="),
        ("matmul", {**ONE, "o": 1}, "matmul: has no attribute o; needs batch"),
        ("matmul", {**ONE, "m": 0}, "matmul: m must be at least 1"),
        ("matmul", {**ONE, "m": 1.5}, "matmul: m must be int, got 1.5"),
        ("matmul", {**ONE, "m": True}, "matmul: m must be int, got True"),
        ("matmul", {**ONE, "bias": 1}, "matmul: bias must be bool, got 1"),
        (
            "matmul",
            {**ONE, "scale": "1"},
            r"matmul: scale must be float \| tuple\[float, ...\], got '1'",
        ),
        ("max_pool2d", {**POOL, "pad": 1}, r"max_pool2d: pad must be tuple\[int, int, int, int\]"),
        ("max_pool2d", {**POOL, "pad": (1, 1)}, r"max_pool2d: pad must be .*, got \(1, 1\)"),
        ("max_pool2d", {**POOL, "dim": "16"}, "max_pool2d: dim must be int | None, got '16'"),
    ],
)
def test_what_cannot_be_made(op, attrs, message):
    with pytest.raises(OperatorError, match=message):
        make(op, attrs)


def test_a_manifest_that_names_an_operator_which_is_not_there(monkeypatch):
    kind = replace(GEMMINI, operators=("matmul", "fft"))
    monkeypatch.setattr(registry, "kind_of", lambda config: kind)
    with pytest.raises(OperatorError, match="device kind gemmini: unknown operator 'fft'"):
        operators_of(CONFIG)


@pytest.mark.parametrize(
    ("loaded", "message"),
    [(ImportError("no module"), "no module"), (object(), "no class that register_operator")],
)
def test_an_entry_point_that_cannot_be_used_is_left_out(monkeypatch, loaded, message):
    def load():
        if isinstance(loaded, Exception):
            raise loaded
        return loaded

    point = SimpleNamespace(name="mine", value="mine:Operator", load=load)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])
    registry._load.cache_clear()
    with pytest.warns(UserWarning, match=f"operator mine .* cannot be used: .*{message}"):
        assert "matmul" in operators()
