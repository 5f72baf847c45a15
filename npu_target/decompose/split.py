"""The parts of a split as slices, each by itself."""

from __future__ import annotations

from tvm import relax

from ..relax_graph import Graph, attr_ints, op_name, shape_of
from .moves import cropped
from .rewriting import Replacement, Values


def rewrite_split(graph: Graph, var: relax.Var) -> Replacement | None:
    """A field of a split of which only fields are used."""
    item = graph.value[var]
    if not isinstance(item, relax.TupleGetItem) or not isinstance(item.tuple_value, relax.Var):
        return None
    parts = item.tuple_value
    split = graph.producer(parts)
    if op_name(split) != "relax.split" or parts in graph.output_vars:
        return None
    if not all(isinstance(graph.value[user], relax.TupleGetItem) for user in graph.users[parts]):
        return None
    shape = shape_of(split.args[0])
    axis = int(split.attrs.axis) % len(shape)
    begin = [0] * len(shape)
    begin[axis] = _begin(split, item.index, shape[axis])

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        source = values.get(split.args[0], split.args[0])
        return cropped(builder, source, begin, shape_of(var), var.name)

    return Replacement(var, frozenset({parts, var}), emit)


def _begin(split: relax.Call, index: int, extent: int) -> int:
    """Where a part begins: sections are of equal size but for the last."""
    sections = split.attrs.indices_or_sections
    if hasattr(sections, "value"):
        return index * -(-extent // int(sections.value))
    return 0 if index == 0 else attr_ints(sections)[index - 1]
