"""Functions with channels first beside the same with channels last."""

import numpy as np
from tvm import relax

from npu_target.frontend.layout import channels_last
from npu_target.host import build_host, run_host
from npu_target.relax_graph import Graph, op_name


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def check(mod, *inputs, transposes):
    """Both compute the same; so many transposes are left, or any number. Returns the operators."""
    changed = channels_last(mod)
    wanted = run_host(build_host(mod), *inputs)
    found = run_host(build_host(changed), *inputs)
    for left, right in zip(wanted, found, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4)
    graph = Graph(relax.transform.FoldConstant()(changed))
    names = [op_name(graph.value[var]) for var in graph.order]
    assert transposes in (None, names.count("relax.permute_dims"))
    for var in graph.order:
        if op_name(graph.value[var]) == "relax.nn.conv2d":
            assert graph.value[var].attrs.data_layout == "NHWC"
    return names
