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


def scaled_by(extent, by):
    @script.prim_func(s_tir=True)
    def scaled(a: T.Buffer((extent,), "int32"), b: T.Buffer((extent,), "int32")):
        for i in range(extent):
            with T.sblock("scaled"):
                vi = T.axis.spatial(extent, i)
                if vi % 2 == 0:
                    b[vi] = a[vi] * by

    return scaled


def test_a_text_that_was_read_before_is_parsed_with_what_it_names_now(monkeypatch):
    scaled_by(7, 3)
    monkeypatch.setattr(inspect, "getsource", lambda of: pytest.fail("it was read again"))
    names = [(7, 3), (8, 3), (7, 4), (7, 3)]
    found = [scaled_by(*named) for named in names]
    monkeypatch.undo()
    for func, named in zip(found, names, strict=True):
        script._source_of.cache_clear()
        tvm.ir.assert_structural_equal(func, scaled_by(*named))
    with pytest.raises(ValueError):
        tvm.ir.assert_structural_equal(found[0], found[2])


@pytest.mark.parametrize("known", [False, True])
def test_what_is_not_well_formed_is_shown_where_it_is(known):
    def twice():
        @script.prim_func(s_tir=True)
        def twice(a: T.Buffer((7,), "int32")):
            for i in range(7):
                with T.sblock("twice"):
                    vi = T.axis.spatial(7, i)
                    vj = T.axis.spatial(7, vi)
                    a[vj] = a[i]

        return twice

    for _ in range(1 + known):
        with pytest.raises(tvm.error.DiagnosticError) as caught:
            twice()
    assert "test_script.py" in str(caught.value) and "well-formed" in str(caught.value)
