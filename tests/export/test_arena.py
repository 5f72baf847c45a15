"""Places of tensors that share memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npu_target.export.arena import LINE_BYTES, Lifetime, lines, plan


@st.composite
def lifetimes(draw: st.DrawFn) -> list[Lifetime]:
    made = st.tuples(st.integers(1, 1000), st.integers(0, 12), st.integers(0, 4))
    return [Lifetime(n, first, first + length) for n, first, length in draw(st.lists(made))]


@given(lifetimes())
def test_what_a_call_needs_lies_apart(tensors: list[Lifetime]) -> None:
    found = plan(tensors)
    places = list(zip(found.offsets, tensors, strict=True))
    for index, (at, tensor) in enumerate(places):
        assert at % LINE_BYTES == 0 and at + lines(tensor.nbytes) <= found.nbytes
        for other_at, other in places[:index]:
            if tensor.first <= other.last and other.first <= tensor.last:
                assert at + tensor.nbytes <= other_at or other_at + other.nbytes <= at


@given(lifetimes())
def test_the_bound_is_what_lives_at_one_time(tensors: list[Lifetime]) -> None:
    needed = [
        sum(lines(tensor.nbytes) for tensor in tensors if tensor.first <= call <= tensor.last)
        for call in range(20)
    ]
    found = plan(tensors)
    assert found.least_bytes == max(needed) <= found.nbytes


def test_a_chain_takes_what_its_largest_pair_takes() -> None:
    sizes = [640, 1280, 320, 640, 64]
    chain = [Lifetime(nbytes, index, index + 1) for index, nbytes in enumerate(sizes)]
    assert plan(chain).nbytes == plan(chain).least_bytes == 640 + 1280


def test_nothing_takes_nothing() -> None:
    assert plan([]).nbytes == plan([]).least_bytes == 0
