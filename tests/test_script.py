"""TVMScript parsed without a look at the stack: the same functions."""

from __future__ import annotations

import inspect

import pytest
import tvm
from tvm.script import tirx as T

from npu_target import script


def test_it_parses_as_tvm_does(monkeypatch):
    extent, dtype, by = 7, "int32", 3  # the first two are named by annotations alone

    @T.prim_func(s_tir=True)
    def scaled(a: T.Buffer((extent,), dtype), b: T.Buffer((extent,), dtype)):
        for i in range(7):
            with T.sblock("scaled"):
                vi = T.axis.spatial(7, i)
                b[vi] = a[vi] * by

    expected = scaled
    monkeypatch.setattr(inspect, "stack", lambda: pytest.fail("the stack was described"))

    @script.prim_func(s_tir=True)
    def scaled(a: T.Buffer((extent,), dtype), b: T.Buffer((extent,), dtype)):
        for i in range(7):
            with T.sblock("scaled"):
                vi = T.axis.spatial(7, i)
                b[vi] = a[vi] * by

    tvm.ir.assert_structural_equal(scaled, expected)


def test_a_mistake_is_shown_where_it_is():
    with pytest.raises(tvm.error.DiagnosticError) as caught:

        @script.prim_func(s_tir=True)
        def mistaken(a: T.Buffer((7,), "int32")):
            a[0] = missing  # noqa: F821

    text = str(caught.value)
    assert "test_script.py" in text and "a[0] = missing" in text
