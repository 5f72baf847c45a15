"""Proofs of a token: what convinces, and what does not."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rpc_server.handshake import (
    ANSWER_BYTES,
    CHALLENGE_BYTES,
    VERDICT_BYTES,
    ClientSide,
    DoorSide,
    HandshakeError,
    is_greeting,
)

tokens = st.binary(min_size=16, max_size=64)
bindings = st.binary(max_size=32)


@given(tokens, bindings)
def test_two_that_know_the_token_believe_each_other(token, binding):
    door, client = DoorSide(token, binding), ClientSide(token, binding)
    answer = client.answer(door.challenge)
    is_in, verdict = door.verdict(answer)
    client.check(verdict)
    assert is_in
    assert [len(x) for x in (door.challenge, answer, verdict)] == [
        CHALLENGE_BYTES,
        ANSWER_BYTES,
        VERDICT_BYTES,
    ]
    assert is_greeting(door.challenge[:4])
    assert all(token not in sent for sent in (door.challenge, answer, verdict))


@given(tokens, tokens, bindings, bindings)
def test_another_token_or_another_certificate_is_not_let_in(token, other, binding, tied):
    assume((token, binding) != (other, tied))
    door, client = DoorSide(token, binding), ClientSide(other, tied)
    is_in, verdict = door.verdict(client.answer(door.challenge))
    assert not is_in
    with pytest.raises(HandshakeError, match="has another token"):
        client.check(verdict)


@given(tokens)
def test_what_was_heard_is_of_no_use_another_time(token):
    door, client = DoorSide(token, b""), ClientSide(token, b"")
    heard = client.answer(door.challenge)
    assert door.verdict(heard)[0]
    assert not DoorSide(token, b"").verdict(heard)[0]


@given(tokens, st.binary(min_size=ANSWER_BYTES, max_size=ANSWER_BYTES))
def test_any_other_answer_is_not_let_in(token, answer):
    assert not DoorSide(token, b"").verdict(answer)[0]


@given(tokens, st.binary(min_size=VERDICT_BYTES, max_size=VERDICT_BYTES))
def test_a_door_that_does_not_know_the_token_is_not_believed(token, verdict):
    client = ClientSide(token, b"")
    answer = client.answer(DoorSide(token, b"").challenge)
    for said in (verdict, b"Y" + answer[32:], b"Y" + bytes(32)):
        with pytest.raises(HandshakeError):
            client.check(said)


@given(st.binary(min_size=CHALLENGE_BYTES, max_size=CHALLENGE_BYTES))
def test_what_does_not_greet_is_no_door(challenge):
    assume(not is_greeting(challenge))
    with pytest.raises(HandshakeError, match="asks for no token"):
        ClientSide(b"token", b"").answer(challenge)
