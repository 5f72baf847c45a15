"""Float operators spelled in those that have an integer form: the same numbers."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from relax_functions import constant, function_of
from tvm import relax
from tvm.relax import op

from npu_target.decompose import decompose_float
from npu_target.host import build_host, run_host
from npu_target.relax_graph import Graph, op_name

RANDOM = np.random.default_rng(0)
QUICK = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))


def normal(*shape):
    return RANDOM.normal(size=shape).astype("float32")


def same(shapes, body, original=None, close=1e-4):
    """The operators of a decomposed function; its results are those of `original`, by default of
    the function itself."""
    mod = function_of(shapes, body)
    made = decompose_float(mod)
    inputs = [normal(*shape) for shape in shapes]
    wanted = run_host(build_host(original or mod), *inputs)
    found = run_host(build_host(made), *inputs)
    for a, b in zip(wanted, found, strict=True):
        np.testing.assert_allclose(b, a, atol=close, rtol=close)
    graph = Graph(made)
    return [(op_name(graph.value[var]) or "").rpartition(".")[2] for var in graph.order]


def transposed(x, weight, bias, strides, padding, dilation, more, groups):
    """What conv2d_transpose of NHWC images, weights IOHW and ReLU is: each pixel times the kernel,
    added up where it lies."""
    n, h, w, ci = x.shape
    _, per_group, kh, kw = weight.shape
    (sh, sw), (dh, dw) = strides, dilation
    full_h, full_w = (h - 1) * sh + (kh - 1) * dh + 1, (w - 1) * sw + (kw - 1) * dw + 1
    total = np.zeros((n, full_h + more[0], full_w + more[1], groups * per_group))
    split = np.split(weight, groups)
    for group, kernel in enumerate(split):
        inputs = x[..., group * (ci // groups) : (group + 1) * (ci // groups)]
        outputs = slice(group * per_group, (group + 1) * per_group)
        for i in range(kh):
            for j in range(kw):
                lines = slice(i * dh, i * dh + (h - 1) * sh + 1, sh)
                pixels = slice(j * dw, j * dw + (w - 1) * sw + 1, sw)
                total[:, lines, pixels, outputs] += inputs @ kernel[:, :, i, j]
    top, left, bottom, right = padding
    bottom, right = total.shape[1] - bottom, total.shape[2] - right
    return np.maximum(total[:, top:bottom, left:right] + bias, 0)


@QUICK
@given(st.data())
def test_transposed_convolution(data):
    draw = data.draw
    groups = draw(st.sampled_from([1, 1, 2, 3]), "groups")
    inputs, outputs = (groups * draw(st.integers(1, 3)) for _ in range(2))
    kernel = [draw(st.integers(1, 5), "kernel") for _ in range(2)]
    strides = [draw(st.integers(1, 3), "stride") for _ in range(2)]
    dilation = [draw(st.sampled_from([1, 1, 2]), "dilation") for _ in range(2)]
    most = [(size - 1) * by for size, by in zip(kernel, dilation, strict=True)]
    padding = [draw(st.integers(0, side), "pad") for side in most * 2]
    more = [draw(st.integers(0, stride - 1), "output padding") for stride in strides]
    image = [draw(st.integers(6, 9), "image") for _ in range(2)]
    layout = draw(st.sampled_from(["NHWC", "NCHW"]))
    weight, bias = normal(inputs, outputs // groups, *kernel), normal(outputs)
    extents = {"N": draw(st.integers(1, 2)), "H": image[0], "W": image[1], "C": inputs}

    def body(emit, x):
        y = op.nn.conv2d_transpose(
            x,
            constant(weight),
            strides=strides,
            padding=padding,
            output_padding=more,
            dilation=dilation,
            groups=groups,
            data_layout=layout,
            kernel_layout="IOHW",
        )
        of_channels = [outputs if axis == "C" else 1 for axis in layout]
        y = emit(op.add(emit(y), constant(bias.reshape(of_channels))))
        return emit(op.nn.relu(y))

    mod = decompose_float(function_of([tuple(extents[axis] for axis in layout)], body))
    x = normal(*(extents[axis] for axis in "NHWC"))
    (found,) = run_host(build_host(mod), x.transpose(["NHWC".find(axis) for axis in layout]).copy())
    found = found.transpose([layout.find(axis) for axis in "NHWC"])
    wanted = transposed(x, weight, bias, strides, padding, dilation, more, groups)
    np.testing.assert_allclose(found, wanted, atol=1e-4, rtol=1e-4)
    graph = Graph(mod)
    assert not any("transpose" in (op_name(value) or "") for value in graph.value.values())


def test_phases_of_a_kernel_as_large_as_the_stride_multiply_nothing_by_0():
    def body(emit, x):
        weight = constant(normal(2, 2, 5, 3))
        y = op.nn.conv2d_transpose(x, weight, strides=2, data_layout="NHWC", kernel_layout="HWOI")
        return emit(y, "up")

    mod = decompose_float(function_of([(1, 4, 4, 3)], body))
    graph = Graph(mod)
    (call,) = [c for c in graph.value.values() if op_name(c) == "relax.nn.conv2d"]
    assert tuple(int(n) for n in call.args[1].ty.shape) == (1, 1, 3, 20)


def lines_convolution(emit, x, weight, bias, layout, **options):
    """Of weights OIW in the layout's own one."""
    kernel_layout = "WIO" if layout == "NWC" else "OIW"
    weight = weight.transpose(["OIW".find(axis) for axis in kernel_layout])
    options = {**options, "data_layout": layout, "kernel_layout": kernel_layout}
    y = emit(op.nn.conv1d(x, constant(weight), padding=(1, 2), **options))
    of_channels = [-1 if axis == "C" else 1 for axis in layout]
    return emit(op.add(y, constant(bias.reshape(of_channels))))


@pytest.mark.parametrize("layout", ["NWC", "NCW"])
@pytest.mark.parametrize(("groups", "dilation", "strides"), [(1, 1, 2), (1, 3, 1), (2, 1, 1)])
def test_convolution_of_lines(layout, groups, dilation, strides):
    weight, bias = normal(6, 4 // groups, 3), normal(6)
    options = {"groups": groups, "dilation": dilation, "strides": strides}

    def body(emit, x):
        return lines_convolution(emit, x, weight, bias, layout, **options)

    def of_lines(emit, x):  # what TVM can compile
        x = emit(op.permute_dims(x, [0, 2, 1]))
        y = lines_convolution(emit, x, weight, bias, "NCW", **options)
        return emit(op.permute_dims(y, [0, 2, 1]))

    if layout == "NWC":
        ops = same([(2, 17, 4)], body, function_of([(2, 17, 4)], of_lines))
    else:
        ops = same([(2, 4, 17)], body)
    assert "conv1d" not in ops
    assert ops[ops.index("conv2d") + 1] == "add"


@pytest.mark.parametrize("shape", [(1, 5, 3), (2, 8, 4)])
def test_transposed_convolution_of_lines(shape):
    weight = normal(shape[2], 6, 4)

    def body(emit, x):
        return emit(
            op.nn.conv1d_transpose(
                emit(op.permute_dims(x, [0, 2, 1])), constant(weight), strides=2, padding=(1, 1)
            )
        )

    assert "conv2d" in same([shape], body)


@pytest.mark.parametrize(
    ("options", "convolutions"),
    [
        ({"pool_size": (3, 2), "strides": (2, 1)}, 1),
        ({"pool_size": (3, 3), "padding": 1, "count_include_pad": True}, 1),
        ({"pool_size": (3, 3), "padding": 1, "count_include_pad": False}, 9),
        ({"pool_size": (3, 3), "strides": (2, 2), "padding": 1}, 6),
        ({"pool_size": (2, 5), "padding": (0, 2, 1, 1)}, 8),
        ({"pool_size": (3, 3), "strides": (2, 2), "ceil_mode": True}, 2),
        (
            {"pool_size": (3, 3), "strides": 2, "ceil_mode": True, "count_include_pad": True},
            0,
        ),
        ({"pool_size": (2, 2), "dilation": 2}, 0),
        ({"pool_size": (8, 7)}, 0),
    ],
)
def test_average_pool(options, convolutions):
    def body(emit, x):
        return emit(op.nn.avg_pool2d(x, layout="NHWC", **options))

    ops = same([(2, 8, 7, 3)], body)
    assert ops.count("conv2d") == convolutions
    assert ops.count("avg_pool2d") == (0 if convolutions else 1)


@pytest.mark.parametrize("layout", ["NWC", "NCW"])
def test_average_pool_of_lines(layout):
    def body(emit, x):
        return emit(op.nn.avg_pool1d(x, 3, 2, 1, layout=layout, count_include_pad=True))

    assert "conv2d" in same([(2, 9, 9)], body)


@pytest.mark.parametrize(
    ("shape", "axes", "ops"),
    [
        ((2, 7, 5), [1], ["reshape", "mean"]),
        ((2, 3, 4, 5, 6), [1, 2, 3], ["reshape", "mean"]),
        ((3, 4, 5), [0, 1], ["reshape", "mean", "reshape"]),
        ((2, 3, 4, 5), [1, 2], ["mean"]),
        ((2, 3, 4), [-1], ["mean"]),
    ],
)
def test_mean(shape, axes, ops):
    assert same([shape], lambda emit, x: emit(op.mean(x, axes))) == ops


@pytest.mark.parametrize("causal", [None, "TopLeft", "BottomRight"])
@pytest.mark.parametrize("biased", [False, True])
def test_attention(causal, biased):
    shapes = [(2, 5, 3, 4), (2, 7, 3, 4), (2, 7, 3, 6)]
    shapes += [(2, 3, 5, 7)] if biased else []

    def body(emit, q, k, v, *bias):
        return emit(op.nn.attention(q, k, v, *bias, causal_mask=causal))

    ops = same(shapes, body)
    assert ops.count("matmul") == 2 and "attention" not in ops


@pytest.mark.parametrize("sections", [3, [2, 5]])
def test_split(sections):
    def body(emit, x):
        parts = emit(op.split(x, sections, axis=-1))
        first, last = emit(parts[0]), emit(parts[2])
        return relax.Tuple([emit(op.exp(last)), first])

    assert same([(2, 7)], body)[:3] == ["strided_slice", "strided_slice", "exp"]


def test_a_split_that_is_used_as_a_whole_stays():
    def body(emit, x):
        return emit(op.concat(emit(op.split(x, 2, axis=1)), axis=0))

    assert same([(2, 6)], body) == ["split", "concat"]
