"""A Relax function seen as a list of bindings."""

import pytest
from relax_functions import function_of
from tvm import relax, tirx
from tvm.relax import op
from tvm.relax.dpl import is_op, wildcard

from npu_target.relax_graph import Graph, GraphError, op_name, shape_of

SHAPE = (2, 3)


def test_aliases_are_resolved_and_users_counted():
    def body(emit, x):
        y = emit(op.abs(x), "y")
        alias = emit(y, "alias")
        return emit(op.add(alias, emit(op.exp(y), "z")), "sum")

    graph = Graph(function_of([SHAPE], body))
    assert [var.name for var in graph.order] == ["y", "z", "sum"]
    y, z, total = graph.order
    assert graph.users[y] == [z, total]
    assert graph.sole_user(z) == total
    assert graph.sole_user(y) is None
    assert graph.sole_user(total) is None
    assert graph.output == total
    assert op_name(graph.producer(z)) == "relax.exp"
    assert shape_of(graph.value[total]) == SHAPE


def test_matches_name_variables_and_not_their_values():
    def body(emit, x):
        return emit(op.exp(emit(op.abs(x), "y")), "z")

    graph = Graph(function_of([SHAPE], body))
    inner = wildcard()
    root = is_op("relax.exp")(inner)
    y, z = graph.order
    assert graph.extract(root, z)[inner] == y
    assert graph.extract(root, y) is None


def test_an_if_is_refused_by_name():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(SHAPE, "float32"))
    condition = relax.Var("c", relax.TensorType((), "bool"))
    with builder.function("main", [x, condition]):
        builder.emit_func_output(builder.emit(relax.If(condition, op.abs(x), op.exp(x)), "choice"))
    with pytest.raises(GraphError, match="choice is an if"):
        Graph(builder.get())


def test_a_shape_that_depends_on_values_is_refused_by_name():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(SHAPE, "float32"))
    with builder.function("main", [x]):
        found = builder.match_cast(
            op.nonzero(x), relax.TensorType((2, tirx.Var("n", "int64")), "int64")
        )
        builder.emit_func_output(found)
    with pytest.raises(GraphError, match="is bound by match_cast: its shape depends on values"):
        Graph(builder.get())
