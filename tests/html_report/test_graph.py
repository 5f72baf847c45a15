"""A network's parts in a column, and the rails of their edges."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npu_target.html_report.graph import MOST_RAILS, graph_rows
from npu_target.partition.partitioner import Decision


def decisions_of(inputs: list[tuple[int, ...]]) -> list[Decision]:
    """A region of its own for each."""
    return [
        Decision("add", f"v{n}", "int8 1", f"r{n}", "add", tuple(taken))
        for n, taken in enumerate(inputs)
    ]


@st.composite
def networks(draw) -> list[tuple[int, ...]]:
    count = draw(st.integers(1, 9))
    return [
        tuple(draw(st.sets(st.integers(0, n - 1), max_size=3))) if n else () for n in range(count)
    ]


@given(networks())
def test_rails_lead_from_each_part_to_those_that_take_its_result(inputs):
    rows = graph_rows(decisions_of(inputs), {}, {})
    last = {source: n for n, taken in enumerate(inputs) for source in taken}
    for n, row in enumerate(rows):
        assert row["out"] == (n in last)
        # A value's rail is there in each row down to the last that takes it.
        for source in (s for s in range(n) if last.get(s, s) >= n):
            rail = rows[source]["rail"]
            assert (rail in row["through"]) or last[source] == n
            if source in inputs[n]:
                assert rail in row["into"]
        assert len(row["into"]) == len(set(inputs[n]))  # each its own
        if row["out"]:
            assert row["rail"] not in row["through"]


def test_a_chain_is_one_rail_and_a_shortcut_a_second():
    chain = graph_rows(decisions_of([(), (0,), (1,), (2,)]), {}, {})
    assert [row["rail"] for row in chain] == [0, 0, 0, 0]
    block = graph_rows(decisions_of([(), (0,), (1,), (0, 2)]), {}, {})
    assert [row["rail"] for row in block] == [0, 1, 1, 0]
    assert [row["through"] for row in block] == [[], [0], [0], []]
    assert [row["into"] for row in block] == [[], [0], [1], [0, 1]]


def test_there_are_never_more_rails_than_there_is_room_for():
    count = 3 * MOST_RAILS
    rows = graph_rows(decisions_of([()] * count + [tuple(range(count))]), {}, {})
    assert max(row["rail"] for row in rows) == MOST_RAILS - 1


def test_rows_say_where_why_and_what_it_costs():
    decisions = [
        Decision("multiply", "q", "int8 4", None, "float32 to int8: quantizes", ()),
        Decision("clip", "c", "int8 4", None, "float32 to int8: quantizes", (0,)),
        Decision("nn.conv2d", "x", "int32 4", "conv", "conv2d + bias", (1,)),
        Decision("add", "y", "int8 4", "conv", "conv2d + bias", (2,)),
    ]
    host, device = graph_rows(decisions, {"conv": 7}, {"conv": 1234})
    assert (host["where"], host["name"], host["operations"]) == ("host", "q", "multiply + clip")
    assert host["why"] == "float32 to int8: quantizes"
    assert (host["layer"], host["cycles"]) == (None, None)
    assert (device["where"], device["name"], device["layer"]) == ("device", "conv", 7)
    assert device["why"] == "the device computes conv2d + bias"
    assert (device["cycles"], device["into"]) == (1234, [0])
