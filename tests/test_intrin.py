"""The array's step: its description, its implementation and NumPy mean the same."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from kernel_runs import run_program
from tvm.s_tir import TensorIntrin
from tvm.script import from_source
from tvm.script import tirx as T

from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.devices.gemmini import PRESETS, GemminiConfig
from npu_target.devices.gemmini.gemm import Gemm
from npu_target.intrin import gemm_intrinsic, gemm_rows

STEPS = [(1, 1), (1, 5), (2, 1), (3, 2), (5, 4), (8, 3)]
GEMM_CALL = Gemm.call


def operands(
    config: GemminiConfig, rows: int, step: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(rows * step)
    span = (rows - 1) * step + 1
    a = random.integers(-128, 128, (span, config.dim), np.int8)
    b = random.integers(-128, 128, (config.dim, config.dim), np.int8)
    c = random.integers(-(2**31), 2**31, (rows, config.dim), np.int32)
    return a, b, c


def in_numpy(a: np.ndarray, b: np.ndarray, c: np.ndarray, step: int) -> np.ndarray:
    total = c + a[::step].astype(np.int64) @ b.astype(np.int64)
    return (total & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


@pytest.mark.parametrize(("rows", "step"), STEPS)
@pytest.mark.parametrize("device", [config.name for config in PRESETS])
def test_the_description_means_the_product(device, rows, step):
    config = preset(device)
    description = TensorIntrin.get(gemm_intrinsic(config, rows, step)).desc
    text = description.script()
    for scope in ("scratchpad", "accumulator"):  # memories that the host does not have
        assert f'scope="global.{scope}"' in text
        text = text.replace(f', scope="global.{scope}"', "")
    a, b, c = operands(config, rows, 1 if rows == 1 else step)
    expected = in_numpy(a, b, c, step)
    result = tvm.runtime.tensor(c)
    compiled = tvm.compile(from_source(text, s_tir=True), "llvm")
    compiled(tvm.runtime.tensor(a), tvm.runtime.tensor(b), result)
    np.testing.assert_array_equal(result.numpy(), expected)


def one_step(config: GemminiConfig, rows: int, step: int):
    """A kernel of nothing but the array's step."""
    dim, span = config.dim, (rows - 1) * step + 1

    @T.prim_func(s_tir=True)
    def kernel(
        a: T.Buffer((span, dim), "int8"),
        b: T.Buffer((dim, dim), "int8"),
        c: T.Buffer((rows, dim), "int32"),
        out: T.Buffer((rows, dim), "int32"),
    ):
        spad_a = T.alloc_buffer((span, dim), "int8", scope="global.scratchpad")
        spad_b = T.alloc_buffer((dim, dim), "int8", scope="global.scratchpad")
        acc = T.alloc_buffer((rows, dim), "int32", scope="global.accumulator")
        for i, j in T.grid(span, dim):
            spad_a[i, j] = a[i, j]
        for i, j in T.grid(dim, dim):
            spad_b[i, j] = b[i, j]
        for i, j in T.grid(rows, dim):
            acc[i, j] = c[i, j]
        T.evaluate(
            T.call_extern(
                "int32",
                GEMM_CALL,
                T.address_of(spad_a[0, 0]),
                T.address_of(spad_b[0, 0]),
                T.address_of(acc[0, 0]),
                rows,
                step,
            )
        )
        for i, j in T.grid(rows, dim):
            out[i, j] = acc[i, j]

    return kernel


@pytest.mark.parametrize(("rows", "step"), STEPS)
@pytest.mark.parametrize("device", [config.name for config in PRESETS])
def test_the_implementation_means_the_product(device, rows, step):
    config = preset(device)
    a, b, c = operands(config, rows, step)
    program = build_program(one_step(config, rows, step), config, "one_step")
    np.testing.assert_array_equal(run_program(program, [a, b, c]), in_numpy(a, b, c, step))


def test_equal_steps_are_one_intrinsic():
    config = GemminiConfig()
    assert gemm_intrinsic(config, 7, 2) == gemm_intrinsic(config, 7, 2)
    assert gemm_intrinsic(config, 1, 2) == gemm_intrinsic(config, 1, 3)
    names = {gemm_intrinsic(preset(name), 7, 2) for name in (p.name for p in PRESETS)}
    assert len(names) == len(PRESETS)


@pytest.mark.parametrize("rows", [1, 7, 16])
def test_the_rows_of_an_intrinsic(rows):
    assert gemm_rows(gemm_intrinsic(GemminiConfig(), rows, 2)) == rows


@pytest.mark.parametrize(
    ("rows", "step", "text"),
    [
        (0, 1, "rows must be 1 to 16 on gemmini-16x16, got 0"),
        (17, 1, "rows must be 1 to 16 on gemmini-16x16, got 17"),
        (4, 0, "row_step must be at least 1, got 0"),
    ],
)
def test_steps_that_the_array_cannot_do_are_refused(rows, step, text):
    with pytest.raises(ValueError, match=text):
        gemm_intrinsic(GemminiConfig(), rows, step)
