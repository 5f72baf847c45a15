"""Convolutions of images with few channels: parts of kernel rows, stacks, and strips."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from kernel_runs import check_schedule, kernel_schedule
from operator_strategies import devices, pad_values
from tvm.s_tir import Schedule

from npu_target.codegen_tir import DoesNotFit
from npu_target.device import preset
from npu_target.devices.gemmini import PRESETS, GemminiConfig
from npu_target.schedule_rules import SPACES, default_schedule, designs
from npu_target.topi import Conv2d
from npu_target.topi.conv2d.windows import strips

CONFIG = GemminiConfig()
FIRST_OF_RESNET = Conv2d(1, 224, 224, 3, 64, 7, 7, (2, 2), (3, 3, 3, 3)).kernel()


@st.composite
def first_layers(draw) -> Conv2d:
    """Operators that take windows."""
    kernel = draw(st.sampled_from([(7, 7), (3, 3), (5, 5), (7, 3), (2, 6)]))
    pad = draw(st.sampled_from([0, 0, 1, 2, 3]))
    sizes = draw(st.integers(12, 40)), draw(st.integers(12, 40))
    strides = draw(st.sampled_from([(1, 1), (2, 2), (3, 2)]))
    bias, relu = draw(st.booleans()), draw(st.booleans())
    co = draw(st.sampled_from([8, 16, 24, 32]))
    pads = draw(st.sampled_from([(pad,) * 4, (0, 0, pad, pad), (pad, 1, 0, pad)]))
    operator = Conv2d(
        1,
        *sizes,
        draw(st.integers(1, 4)),
        co,
        *kernel,
        strides,
        pads,
        bias,
        relu,
        pad_value=draw(pad_values),
    )
    assume(operator.kernel().windows)
    return operator


@given(first_layers(), devices)
def test_steps_take_every_byte_of_every_kernel_row_once(operator: Conv2d, config: GemminiConfig):
    for strip in strips(operator.kernel()):
        parts, n_bytes = strip.parts(operator, config), strip.bytes(operator)
        taken = []
        for step in range(parts.steps_inside):
            part, line = int(parts.part_of(step)), int(parts.line_of(step))
            last = part == parts.number
            lines = parts.last.lines if last else 1
            columns = parts.last.columns if last else parts.columns
            first = parts.last.first if last else part * parts.columns
            assert lines * columns <= config.dim
            rows = range(line, min(line + lines, operator.kh))
            taken += [(row, first + byte) for row in rows for byte in range(columns)]
        assert sorted(taken) == [(r, b) for r in range(operator.kh) for b in range(n_bytes)]


@given(first_layers(), devices)
def test_what_is_beside_the_image_is_taken_where_it_is_not_0(
    operator: Conv2d, config: GemminiConfig
):
    """All of the kernel's bytes that no pixel of the image meets, once, behind the others."""
    for strip in strips(operator.kernel()):
        parts = strip.parts(operator, config)
        first = strip.kernel_first * operator.ci
        taken = [
            (row, first + part.first + byte)
            for part in parts.beside
            for start in range(0, operator.kh, part.lines)
            for row in range(start, min(start + part.lines, operator.kh))
            for byte in range(part.columns)
        ]
        inside = range(first, first + strip.bytes(operator))
        assert sorted(taken) == [
            (row, byte)
            for row in range(operator.kh)
            for byte in range(operator.kw * operator.ci)
            if operator.window.fill and byte not in inside
        ]
        assert all(part.columns * part.lines <= config.dim for part in parts.beside)
        if not parts.beside:
            continue
        assert strip.columns == 1  # a window over the edge has no like
        behind = range(parts.steps_inside, parts.steps)
        assert {int(parts.part_of(step)) for step in behind} == {parts.number + 1}
        # The tile's first row and its last one are read.
        assert {0, operator.kh - 1} <= {int(parts.line_of(step)) for step in behind}


def test_the_first_layer_of_resnet_takes_ten_steps() -> None:
    widest = strips(FIRST_OF_RESNET)[0]
    assert widest.parts(FIRST_OF_RESNET, CONFIG).steps == 10
    plain = CONFIG.replace(name="plain", has_first_layer_pixel_repeats=False)
    assert widest.parts(FIRST_OF_RESNET, plain).steps == 14


def test_lines_are_stacked_where_a_step_waits_for_all_of_their_loads() -> None:
    """Strips that come later overwrite rows that no step reads: these are in loads with others, if
    the last step of a stack begins with the last row of the kernel."""
    config = preset("gemmini-8x8")
    for kernel, pad, lines in (
        ((3, 3), (0, 0, 1, 0), 2),  # no other strips
        ((3, 3), (0, 0, 1, 1), 1),
        ((4, 5), (0, 0, 0, 0), 4),
        ((4, 5), (0, 0, 0, 3), 3),
        ((5, 5), (0, 0, 0, 3), 4),
    ):
        ci = 1 if kernel == (3, 3) else 2
        operator = Conv2d(1, 12, 18, ci, 8, *kernel, (1, 1), pad, bias=False).kernel()
        parts = strips(operator)[0].parts(operator, config)
        assert parts.last.lines == lines, (kernel, pad)
        for template in operator.templates(config):
            schedule = Schedule(operator.prim_func(config), seed=1)
            template(schedule)
            with suppress(DoesNotFit):
                check_schedule(operator, schedule, config, 1)


def test_stacks_whose_output_columns_are_a_block_of_bytes_apart() -> None:
    """They are no blocks of one load, which a stacked one has none of."""
    config = preset("gemmini-8x8")
    operator = Conv2d(1, 8, 8, 4, 8, 5, 5, (2, 2))
    kernel = operator.kernel()
    assert strips(kernel)[0].parts(kernel, config).last.lines == 2
    for template in kernel.templates(config):
        schedule = Schedule(kernel.prim_func(config), seed=1)
        template(schedule)
        check_schedule(operator, schedule, config, 1)


OVER_THE_EDGE = pytest.mark.parametrize(
    "operator",
    [
        Conv2d(1, 12, 3, 4, 20, 3, 5, (1, 1), (1, 2, 1, 2), pad_value=-7),  # less than its kernel
        Conv2d(1, 9, 12, 4, 5, 2, 9, (1, 1), (1, 7, 0, 0), pad_value=1),  # many bytes beside it
        Conv2d(1, 14, 14, 3, 8, 7, 7, (2, 2), (3, 3, 3, 3), pad_value=127),  # stacked
        Conv2d(2, 15, 10, 1, 24, 10, 4, (2, 2), (4, 1, 5, 1), pad_value=-128),
    ],
    ids=lambda operator: operator.name,
)


@pytest.mark.long
@OVER_THE_EDGE
def test_windows_over_the_edge_of_an_image_padded_by_a_value(operator: Conv2d) -> None:
    kernel = operator.kernel()
    for config in (preset("gemmini-8x8"), CONFIG):
        assert kernel.windows and any(x.parts(kernel, config).beside for x in strips(kernel))
        check_schedule(operator, default_schedule(kernel, config), config, 1)


@pytest.mark.slow
@OVER_THE_EDGE
@pytest.mark.parametrize("config", PRESETS, ids=lambda config: config.name)
@pytest.mark.parametrize("space", SPACES)
def test_windows_over_the_edge_in_every_space(operator, config, space) -> None:
    start = kernel_schedule(operator, config, 1)
    for design in designs(start, operator.kernel(), config, space):
        with suppress(DoesNotFit):
            check_schedule(operator, design.schedule, config, 1)


@pytest.mark.parametrize(
    "operator",
    [Conv2d(2, 5, 4, 1, 1, 5, 2), Conv2d(1, 5, 64, 1, 40, 5, 2), Conv2d(1, 9, 58, 1, 1, 8, 3)],
)
def test_stacks_alone_that_end_with_the_image_are_in_order(operator: Conv2d) -> None:
    """No step begins with the last rows of a load, of which the device sees no dependence."""
    for config in (preset("gemmini-8x8"), CONFIG):
        for template in operator.kernel().templates(config):
            schedule = Schedule(operator.kernel().prim_func(config), seed=1)
            template(schedule)
            with suppress(DoesNotFit):
                check_schedule(operator, schedule, config, 1)


@settings(max_examples=8)
@given(st.data())
def test_equals_numpy_or_does_not_fit(data) -> None:
    config, operator = data.draw(devices), data.draw(first_layers())
    kernel = operator.kernel()
    schedule = Schedule(kernel.prim_func(config), seed=data.draw(st.integers(1, 2**31 - 1)))
    data.draw(st.sampled_from(kernel.templates(config)))(schedule)
    try:
        check_schedule(operator, schedule, config, 1)
    except DoesNotFit as error:
        assert operator.name in str(error)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.data())
def test_many_equal_numpy(data) -> None:
    test_equals_numpy_or_does_not_fit.hypothesis.inner_test(data)
