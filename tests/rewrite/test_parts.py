"""A body with changes one after the other: what is kept of one is what another would make."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from program_streams import command, repeating

from npu_target.devices.gemmini.isa import COMMANDS
from npu_target.pipeline_options import DEFAULT
from npu_target.program import Loop, Node, const, le, nodes_of, var
from npu_target.rewrite.kept import LoopIds
from npu_target.rewrite.parts import NO_CHANGE, Change, Parts


def loops_of(nodes: tuple[Node, ...]) -> list[Loop]:
    return [node for node in nodes_of(nodes) if isinstance(node, Loop)]


@given(repeating(), st.data())
def test_what_is_kept_is_what_would_be_made(body: tuple[Node, ...], data: st.DataObject) -> None:
    body = (Loop(99, const(500), body), *body)
    parts = Parts(body, COMMANDS, DEFAULT)
    ids = sorted({loop.loop_id for loop in loops_of(body)})
    change = NO_CHANGE
    for _ in range(4):
        loop_id = data.draw(st.sampled_from(ids))
        joined = data.draw(st.sampled_from([0, 1, 2, 7]))
        change = change.joining(loop_id, joined) if joined else change.cutting(loop_id)
        assert parts.changed(change) == Parts(body, COMMANDS, DEFAULT).changed(change)
        alone = Change(joined=change.joined)
        assert parts.changed(alone) == Parts(body, COMMANDS, DEFAULT).changed(alone)


def test_what_a_change_does_not_touch_stays_the_same_object() -> None:
    """Not only equal: what is made of it is found by its identity."""

    def asked(loop_id: int) -> Loop:
        inner = Loop(0, le(var(loop_id), const(3)), (command(16 * var(loop_id)),))
        return Loop(loop_id, const(900), (inner, *[command(k, var(7)) for k in range(20)]))

    parts = Parts((Loop(7, const(600), (asked(5), asked(6))),), COMMANDS, DEFAULT)
    (before,), (after,) = parts.changed(NO_CHANGE), parts.changed(NO_CHANGE.joining(5, 2))
    assert isinstance(before, Loop)
    assert isinstance(after, Loop)
    assert after != before
    assert after.body[-1] is before.body[-1]


@given(repeating())
def test_the_ids_of_loops(body: tuple[Node, ...]) -> None:
    loop_ids = LoopIds()
    for loop in loops_of(body):
        assert loop_ids.of(loop) == {part.loop_id for part in loops_of((loop,))}
