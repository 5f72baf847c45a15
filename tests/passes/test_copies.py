"""Stores in TensorIR: which copy each is, and why others are none."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.script import tirx as T

from npu_target.device import Features, kind_of
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.numbers import NUMBERS
from npu_target.passes.copies import Load, Pooling, Store, recognise
from npu_target.passes.errors import CodegenError
from npu_target.passes.linear import Linear

requantize = NUMBERS.rule.expression

CONFIG = GemminiConfig()
D, MEMORIES = CONFIG.dim, CONFIG.memories
INPUTS, SUMS = MEMORIES.inputs, MEMORIES.sums
R, C = Linear.loop(0), Linear.loop(1)
SPAD, ACC = "global.scratchpad", "global.accumulator"


def recognised(func: tirx.PrimFunc) -> Load | Store:
    """The copy that a function's only nest is.  A tile's row is its index, its rows are dense."""
    statement, guards, env = func.body, [], {}
    while not isinstance(statement, tirx.BufferStore):
        if isinstance(statement, tirx.SeqStmt):
            (statement,) = (s for s in statement.seq if not isinstance(s, tirx.AllocBuffer))
        elif isinstance(statement, tirx.For):
            env[statement.loop_var] = Linear.loop(len(env))
            statement = statement.body
        else:
            guards.append(statement.condition)
            statement = statement.then_case
    return recognise(statement, guards, env, local, CONFIG)


def local(buffer: tirx.Buffer, indices: list[Linear]) -> tuple[Linear, Linear]:
    row = Linear()
    for extent, index in zip(buffer.shape[:-1], indices[:-1], strict=True):
        row = row * int(extent) + index
    return row, indices[-1]


@T.prim_func(s_tir=True)
def plain_load(x: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        t[r, c] = x[r + 3, c]


@T.prim_func(s_tir=True)
def padded_load(x: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        t[r, c] = T.if_then_else(r >= 2 and c + D < 20, x[r - 2, c + D], T.int8(0))


@T.prim_func(s_tir=True)
def scaled_load(x: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        t[r, c] = requantize(x[r, c], 0.5)


@T.prim_func(s_tir=True)
def shrunk_load(x: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int32", scope=ACC)
    for r, c in T.grid(8, D):
        t[r, c] = T.cast(requantize(x[r, c], 0.5), "int32")


@T.prim_func(s_tir=True)
def accumulating_load(x: T.Buffer((20,), "int32")):
    t = T.alloc_buffer((8, D), "int32", scope=ACC)
    for r, c in T.grid(8, D):
        t[r, c] = t[r, c] + x[c]


@T.prim_func(s_tir=True)
def zeros(x: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int32", scope=ACC)
    for r, c in T.grid(8, D):
        t[r, c] = 0


@T.prim_func(s_tir=True)
def padding_with_one(x: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        t[r, c] = T.if_then_else(r < 5, x[r, c], T.int8(1))


@T.prim_func(s_tir=True)
def widening_padded_with_least(x: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int32", scope=ACC)
    for r, c in T.grid(8, D):
        t[r, c] = T.if_then_else(r < 5, T.Cast("int32", x[r, c]), -128)


@T.prim_func(s_tir=True)
def only_padding(x: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int32", scope=ACC)
    for r, c in T.grid(8, D):
        t[r, c] = -128


@pytest.mark.parametrize(
    ("func", "copy"),
    [
        (plain_load, Load(R, C, INPUTS, "x", R * 20 + C + 60, 1, ())),
        (
            padded_load,
            Load(R, C, INPUTS, "x", R * 20 + C - 24, 1, (R - 2, C * -1 + 3)),
        ),
        (scaled_load, Load(R, C, INPUTS, "x", R * 20 + C, 1, (), scale=0.5)),
        (shrunk_load, Load(R, C, SUMS, "x", R * 20 + C, 1, (), shrunk=True, scale=0.5)),
        (accumulating_load, Load(R, C, SUMS, "x", C, 4, (), accumulate=True)),
        (zeros, Load(R, C, SUMS, None, Linear(), 1, ())),
        (padding_with_one, Load(R, C, INPUTS, "x", R * 20 + C, 1, (R * -1 + 4,), fill=1)),
        (
            widening_padded_with_least,
            Load(R, C, SUMS, "x", R * 20 + C, 1, (R * -1 + 4,), shrunk=True, fill=-128),
        ),
        (only_padding, Load(R, C, SUMS, None, Linear(), 1, (), shrunk=True, fill=-128)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_loads(func, copy):
    assert recognised(func) == copy


@T.prim_func(s_tir=True)
def plain_store(y: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        if r < 5:  # noqa: SIM102
            if c < 20 - D:
                y[r, c + D] = t[r, c]


@T.prim_func(s_tir=True)
def full_width_store(y: T.Buffer((40, 20), "int32")):
    t = T.alloc_buffer((8, D), "int32", scope=ACC)
    for r, c in T.grid(8, D):
        y[r, c] = t[r, c]


@T.prim_func(s_tir=True)
def requantized_store(y: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int32", scope=ACC)
    for r, c in T.grid(8, D):
        y[r, c] = requantize(t[r, c], 0.25, True)


@T.prim_func(s_tir=True)
def unscaled_store(y: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int32", scope=ACC)
    for r, c in T.grid(8, D):
        y[r, c] = requantize(t[r, c], 1.0)


@T.prim_func(s_tir=True)
def pooled_store(y: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((9, 7, D), "int32", scope=ACC)
    for r, c in T.grid(3, D):
        y[r, c] = requantize(
            T.max(
                T.max(T.max(t[r * 2, 0, c], t[r * 2, 1, c]), t[r * 2 + 1, 0, c]), t[r * 2 + 1, 1, c]
            ),
            1.0,
        )


@pytest.mark.parametrize(
    ("func", "copy"),
    [
        (
            plain_store,
            Store(R, C, INPUTS, "y", R * 20 + C + D, 1, (R * -1 + 4, C * -1 + 19 - D)),
        ),
        (full_width_store, Store(R, C, SUMS, "y", R * 20 + C, 4, (), full_width=True)),
        (requantized_store, Store(R, C, SUMS, "y", R * 20 + C, 1, (), (0.25,), relu=True)),
        (unscaled_store, Store(R, C, SUMS, "y", R * 20 + C, 1, ())),
        (
            pooled_store,
            Store(R * 14, C, SUMS, "y", R * 20 + C, 1, (), pooling=Pooling(2, 7)),
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_stores(func, copy):
    assert recognised(func) == copy


@T.prim_func(s_tir=True)
def guarded_load(x: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        if r < 5:
            t[r, c] = x[r, c]


@T.prim_func(s_tir=True)
def sums_padded_with_one(x: T.Buffer((40, 20), "int32")):
    t = T.alloc_buffer((8, D), "int32", scope=ACC)
    for r, c in T.grid(8, D):
        t[r, c] = T.if_then_else(r < 5, x[r, c], 1)


@T.prim_func(s_tir=True)
def padding_too_large(x: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int32", scope=ACC)
    for r, c in T.grid(8, D):
        t[r, c] = T.if_then_else(r < 5, T.Cast("int32", x[r, c]), 128)


@T.prim_func(s_tir=True)
def scaled_padded_with_one(x: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        t[r, c] = T.if_then_else(r < 5, requantize(x[r, c], 0.5), T.int8(1))


@T.prim_func(s_tir=True)
def padding_of_a_load(x: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        t[r, c] = T.if_then_else(r < 5, x[r, c], x[r + 1, c])


@T.prim_func(s_tir=True)
def load_with_relu(x: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        t[r, c] = requantize(x[r, c], 0.5, True)


@T.prim_func(s_tir=True)
def load_from_tile(x: T.Buffer((40, 20), "int8")):
    s = T.alloc_buffer((8, D), "int8", scope=SPAD)
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        t[r, c] = s[r, c]


@T.prim_func(s_tir=True)
def widening_load(x: T.Buffer((40, 20), "int16")):
    t = T.alloc_buffer((8, D), "int32", scope=ACC)
    for r, c in T.grid(8, D):
        t[r, c] = T.cast(x[r, c], "int32")


@T.prim_func(s_tir=True)
def gathering_load(x: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        t[r, c] = x[r * r, c]


@T.prim_func(s_tir=True)
def sum_store(y: T.Buffer((40, 20), "int32")):
    t = T.alloc_buffer((8, D), "int32", scope=ACC)
    for r, c in T.grid(8, D):
        y[r, c] = t[r, c] + 1


@T.prim_func(s_tir=True)
def scratchpad_requantized(y: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        y[r, c] = requantize(t[r, c], 0.5)


@T.prim_func(s_tir=True)
def narrowed_store(y: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((8, D), "int32", scope=ACC)
    for r, c in T.grid(8, D):
        y[r, c] = T.cast(t[r, c], "int8")


@T.prim_func(s_tir=True)
def crooked_window(y: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((9, 7, D), "int32", scope=ACC)
    for r, c in T.grid(3, D):
        y[r, c] = requantize(
            T.max(T.max(T.max(t[r, 0, c], t[r, 1, c]), t[r, 2, c]), t[r, 5, c]),
            1.0,
        )


@T.prim_func(s_tir=True)
def window_along_columns(y: T.Buffer((40, 20), "int8")):
    t = T.alloc_buffer((9, 7, D), "int32", scope=ACC)
    for r, c in T.grid(3, 4):
        y[r, c] = requantize(
            T.max(T.max(T.max(t[r, 0, c], t[r, 0, c + 1]), t[r, 1, c]), t[r, 1, c + 1]),
            1.0,
        )


@pytest.mark.parametrize(
    ("func", "text"),
    [
        (guarded_load, "a tile is written under a condition; give it a value of 0"),
        (padding_of_a_load, "padding must be a number"),
        (sums_padded_with_one, "padding by 1 is for elements of inputs only"),
        (padding_too_large, "padding by 128 is for elements of inputs only"),
        (scaled_padded_with_one, "padding by 1 of what is scaled"),
        (load_with_relu, "a load has no activation"),
        (load_from_tile, "not read from a kernel argument"),
        (widening_load, "the value read is int16, needs int8"),
        (gathering_load, "multiplies two variables"),
        (sum_store, "not read from a tile"),
        (scratchpad_requantized, "not read from the accumulator"),
        (narrowed_store, "not read from a tile"),
        (crooked_window, "no square window"),
        (window_along_columns, "no window"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_no_command_computes_is_shown_with_the_reason(func, text):
    with pytest.raises(CodegenError, match=text) as error:
        recognised(func)
    assert str(error.value).startswith("no command computes `")


def test_a_device_that_pads_with_zeros_alone_says_so(monkeypatch):
    monkeypatch.setitem(vars(kind_of(CONFIG)), "features", lambda config: Features())
    with pytest.raises(CodegenError, match=f"loads of {CONFIG.name} write 0 as padding, not 1"):
        recognised(padding_with_one)
    assert recognised(padded_load).fill == 0
