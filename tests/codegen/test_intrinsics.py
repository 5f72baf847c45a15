"""A device with a second intrinsic: hand-written functions that call either."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_runs import run_program
from tvm import tirx
from tvm.script import tirx as T

from npu_target.codegen_tir import CodegenError, build_program
from npu_target.device import kind_of, preset
from npu_target.device.intrinsic import Access, Operand
from npu_target.devices.gemmini.gemm import Gemm

CONFIG = preset("gemmini-16x16")
D = CONFIG.dim
SCRATCHPAD, ACCUMULATOR = (memory.scope for memory in CONFIG.memories.all)
BLOCKS = 3


class Product(Gemm):
    """``C[i, j] = A[i, k] * B[k, j]``: the sums are written, not added to."""

    call = "test.product"
    multiplies = False

    def operands(self, *numbers: int) -> tuple[Operand, ...]:
        (rows,) = numbers
        a, b, c = super().operands(rows, 1)
        return a, b, c._replace(access=Access.WRITE)

    def nodes(self, step, row, rows, *, new_stationary, overwrites):
        assert not overwrites, "nothing is added to"
        return super().nodes(step, row, rows, new_stationary=new_stationary, overwrites=True)


@pytest.fixture
def two_intrinsics(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = kind_of(CONFIG)
    both = {**kind.intrinsics(CONFIG), Product.call: Product(CONFIG)}
    monkeypatch.setitem(kind._intrinsics, CONFIG, both)


def products(calls: list[tuple[str, int]], rows: int = D, columns: int = D) -> tirx.PrimFunc:
    """Blocks of x, each times some of the matrices in w, one call after another."""
    numbers = {Gemm.call: (rows, 1), Product.call: (rows,)}

    @T.prim_func(s_tir=True)
    def function(
        x: T.Buffer((BLOCKS, rows, D), "int8"),
        w: T.Buffer((2, D, D), "int8"),
        out: T.Buffer((BLOCKS, rows, D), "int32"),
    ) -> None:
        a = T.alloc_buffer((BLOCKS, rows, D), "int8", scope=SCRATCHPAD)
        b = T.alloc_buffer((2, D, D), "int8", scope=SCRATCHPAD)
        c = T.alloc_buffer((BLOCKS, rows, D), "int32", scope=ACCUMULATOR)
        for n, r, k in T.grid(BLOCKS, rows, D):
            a[n, r, k] = T.if_then_else(k < columns, x[n, r, k], T.int8(0))
        for n, r, k in T.grid(2, D, D):
            b[n, r, k] = w[n, r, k]
        for n, r, k in T.grid(BLOCKS, rows, D):
            c[n, r, k] = 1000
        for n, r, k in T.grid(BLOCKS, rows, D):
            out[n, r, k] = c[n, r, k]

    steps = []
    tiles = _tiles(function)
    for name, matrix in calls:
        n = tirx.Var("n", "int32")
        zero = tirx.IntImm("int32", 0)
        at = [
            tirx.address_of(tile[index, zero, zero])
            for tile, index in zip(tiles, (n, tirx.IntImm("int32", matrix), n), strict=True)
        ]
        call = tirx.call_extern("int32", name, *at, *numbers[name])
        body = tirx.Evaluate(call)
        steps.append(tirx.For(n, zero, tirx.IntImm("int32", BLOCKS), tirx.ForKind.SERIAL, body))
    *loads, _, store = _statements(function)
    return function.with_body(tirx.SeqStmt([*loads, *steps, store]))


def _statements(function: tirx.PrimFunc) -> list[tirx.Stmt]:
    return list(function.body.seq)


def _tiles(function: tirx.PrimFunc) -> list[tirx.Buffer]:
    allocated = [s for s in _statements(function) if isinstance(s, tirx.AllocBuffer)]
    return [statement.buffer for statement in allocated]


@pytest.mark.usefixtures("two_intrinsics")
@pytest.mark.parametrize("rows", [1, 5, D])
@pytest.mark.parametrize(
    ("calls", "factors"),
    [
        ([(Product.call, 0)], (1, 0)),
        ([(Product.call, 0), (Product.call, 1)], (0, 1)),
        ([(Product.call, 0), (Gemm.call, 1)], (1, 1)),
        ([(Product.call, 1), (Gemm.call, 0), (Gemm.call, 0)], (2, 1)),
    ],
)
def test_calls_of_both_do_what_they_say(calls, factors, rows):
    generator = np.random.default_rng(rows)
    x = generator.integers(-128, 128, (BLOCKS, rows, D), np.int8)
    w = generator.integers(-128, 128, (2, D, D), np.int8)
    program = build_program(products(calls, rows), CONFIG, "products")
    matrix = np.tensordot(np.array(factors), w.astype(np.int32), 1)
    np.testing.assert_array_equal(run_program(program, [x, w]), x.astype(np.int32) @ matrix)


@pytest.mark.usefixtures("two_intrinsics")
def test_what_is_added_to_has_to_be_there():
    with pytest.raises(CodegenError, match="rows of tile c are read that nothing writes"):
        build_program(products([(Gemm.call, 0)]), CONFIG, "products")


@pytest.mark.usefixtures("two_intrinsics")
def test_columns_that_nothing_defines_are_refused():
    """Of a step that is not known to multiply, all columns count."""
    with pytest.raises(CodegenError, match="takes columns of tile a that"):
        build_program(products([(Product.call, 0)], columns=7), CONFIG, "products")


def test_a_call_of_no_intrinsic_is_refused():
    with pytest.raises(CodegenError, match=r"no command performs `.*test.product"):
        build_program(products([(Product.call, 0)]), CONFIG, "products")
