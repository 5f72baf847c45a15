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


def nchw_of(shape, body):
    """`body` on NCHW images as a function of NHWC ones: what TVM can compile."""

    def around(emit, x):
        y = body(emit, emit(op.permute_dims(x, [0, 3, 1, 2])))
        return emit(op.permute_dims(y, [0, 2, 3, 1]))

    return function_of([shape], around)


@QUICK
@given(st.data())
def test_transposed_convolution(data):
    draw = data.draw
    groups = draw(st.sampled_from([1, 1, 2, 3]), "groups")
    inputs, outputs = (groups * draw(st.integers(1, 3)) for _ in range(2))
    kernel = [draw(st.integers(1, 5), "kernel") for _ in range(2)]
    strides = [draw(st.integers(1, 3), "stride") for _ in range(2)]
    dilation = [draw(st.sampled_from([1, 1, 2]), "dilation") for _ in range(2)]
    padding = [
        draw(st.integers(0, (k - 1) * d), "pad") for k, d in zip(kernel, dilation, strict=True)
    ] * 2
    more = [draw(st.integers(0, s - 1), "output padding") for s in strides]
    image = [draw(st.integers(3, 6), "image") for _ in range(2)]
    weight = constant(normal(inputs, outputs // groups, *kernel))
    bias = normal(outputs)

    def convolution(emit, x, layout):
        options = dict(strides=strides, padding=padding, output_padding=more, dilation=dilation)
        y = op.nn.conv2d_transpose(
            x, weight, groups=groups, data_layout=layout, kernel_layout="IOHW", **options
        )
        axis = layout.find("C")
        shape = [outputs if i == axis else 1 for i in range(4)]
        y = emit(op.add(emit(y), constant(bias.reshape(shape))))
        return emit(op.nn.relu(y))

    shape = (draw(st.integers(1, 2)), *image, inputs)
    original = nchw_of(shape, lambda emit, x: convolution(emit, x, "NCHW"))
    ops = same([shape], lambda emit, x: convolution(emit, x, "NHWC"), original)
    assert ops[:3] == ["conv2d", "add", "relu"]
    made = decompose_float(original)
    x = normal(*shape)
    (wanted,), (found,) = (run_host(build_host(m), x) for m in (original, made))
    np.testing.assert_allclose(found, wanted, atol=1e-4, rtol=1e-4)


def test_phases_of_a_kernel_as_large_as_the_stride_multiply_nothing_by_0():
    def body(emit, x):
        weight = constant(normal(2, 2, 5, 3))
        y = op.nn.conv2d_transpose(x, weight, strides=2, data_layout="NHWC", kernel_layout="HWOI")
        return emit(y, "up")

    mod = decompose_float(function_of([(1, 4, 4, 3)], body))
    graph = Graph(mod)
    (call,) = [c for c in graph.value.values() if op_name(c) == "relax.nn.conv2d"]
    assert tuple(int(n) for n in call.args[1].ty.shape) == (1, 1, 3, 20)


@pytest.mark.parametrize("layout", ["NWC", "NCW"])
@pytest.mark.parametrize(("groups", "dilation", "stride"), [(1, 1, 2), (1, 3, 1), (2, 1, 1)])
def test_convolution_of_lines(layout, groups, dilation, stride):
    kernel_layout = "WIO" if layout == "NWC" else "OIW"
    extents = {"W": 3, "I": 4 // groups, "O": 6}
    weight = constant(normal(*(extents[axis] for axis in kernel_layout)))
    bias = constant(normal(*(6 if axis == "C" else 1 for axis in layout)))
    shape = tuple({"N": 2, "W": 17, "C": 4}[axis] for axis in layout)

    def body(emit, x, data=layout, kernel=kernel_layout, weight=weight):
        y = op.nn.conv1d(
            x,
            weight,
            strides=stride,
            padding=(1, 2),
            dilation=dilation,
            groups=groups,
            data_layout=data,
            kernel_layout=kernel,
        )
        return emit(op.add(emit(y), bias))

    def in_ncw(emit, x):
        back = op.permute_dims(
            body(
                emit,
                emit(op.permute_dims(x, [0, 2, 1])),
                "NCW",
                "OIW",
                emit(op.permute_dims(weight, [2, 1, 0])),
            ),
            [0, 2, 1],
        )
        return emit(back)

    original = None
    if layout == "NWC":
        bias_of_ncw = constant(bias.value.numpy().reshape(1, 6, 1))

        def of_lines(emit, x):
            y = op.nn.conv1d(
                emit(op.permute_dims(x, [0, 2, 1])),
                emit(op.permute_dims(weight, [2, 1, 0])),
                strides=stride,
                padding=(1, 2),
                dilation=dilation,
                groups=groups,
            )
            return emit(op.permute_dims(emit(op.add(emit(y), bias_of_ncw)), [0, 2, 1]))

        original = function_of([shape], of_lines)
    ops = same([shape], body, original)
    assert "conv1d" not in ops and ops[ops.index("conv2d") + 1] == "add"


@pytest.mark.parametrize("shape", [(1, 5, 3), (2, 8, 4)])
def test_transposed_convolution_of_lines(shape):
    n, w, c = shape
    weight = normal(c, 6, 4)

    def body(emit, x):
        return emit(
            op.nn.conv1d_transpose(
                emit(op.permute_dims(x, [0, 2, 1])), constant(weight), strides=2, padding=(1, 1)
            )
        )

    assert "conv2d" in same([shape], body)


@pytest.mark.parametrize(
    ("options", "decomposed"),
    [
        ({"pool_size": (3, 2), "strides": (2, 1)}, True),
        ({"pool_size": (3, 3), "padding": 1, "count_include_pad": True}, True),
        ({"pool_size": (3, 3), "padding": 1, "count_include_pad": False}, False),
        ({"pool_size": (3, 3), "strides": (2, 2), "ceil_mode": True}, False),
        ({"pool_size": (8, 7)}, False),
    ],
)
def test_average_pool(options, decomposed):
    def body(emit, x):
        return emit(op.nn.avg_pool2d(x, layout="NHWC", **options))

    ops = same([(2, 8, 7, 3)], body)
    assert ops == (["conv2d"] if decomposed else ["avg_pool2d"])


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
