"""What a client makes of its tracker's counts: whether others wait, whose turn it is, what it says.

The tracker is made up; those of `test_sharing.py` are real.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from unittest.mock import patch

from hypothesis import example, given
from hypothesis import strategies as st

from npu_target.tuning import sharing
from npu_target.tuning.sharing import TURN_SECONDS, Sharing
from rpc_server.address import Address
from rpc_server.tracker_client import Counts, TrackerError

Step = Callable[[], None]


@dataclass
class Tracker:
    """A client of a tracker with so many servers, and so many requests of others."""

    registered: int = 1
    free: int = 0
    others: int = 0
    trouble: str = ""
    ours: int = 0
    before: list[Step] = field(default_factory=list)  # what happens between asking and counting
    after: list[Step] = field(default_factory=list)  # and until the answer is there

    def counts(self, key: str) -> Counts:
        assert key == "key"
        for step in self.before:
            step()
        counts = Counts(self.registered, self.free, self.others + self.ours)
        for step in self.after:
            step()
        if self.trouble:
            raise TrackerError(self.trouble)
        return counts

    def close(self) -> None:
        pass


class Client:
    """A client that looks when it is told to."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self.sharing = Sharing(Address("host", 9190), None, "key", "the device")

    def ask(self) -> None:
        self.sharing.asks()
        self.tracker.ours += 1

    def get(self) -> None:
        self.tracker.ours -= 1
        self.sharing.has_asked(was_given=True)

    def look(self) -> None:
        """Once."""
        tracker, after = self.tracker, list(self.tracker.after)
        tracker.after = [*after, self.sharing._stopping.set]
        with (
            patch.object(sharing, "TrackerClient", lambda *_, **__: tracker),
            patch.object(sharing, "_LOOK_SECONDS", 0.0),
        ):
            self.sharing.run()
        self.sharing._stopping.clear()
        tracker.after = after


SMALL = st.integers(0, 4)


@given(SMALL, SMALL)
def test_others_wait_if_there_are_more_requests_than_ones_own(asked, others):
    client = Client(Tracker(others=others))
    for _ in range(asked):
        client.ask()
    client.look()
    assert client.sharing.others_wait() == (others > 0)


@given(SMALL, st.sampled_from(("before", "after")), st.booleans())
def test_what_one_asks_for_or_gets_during_a_look_is_not_of_others(asked, when, is_asking):
    client = Client(Tracker())
    for _ in range(asked + (not is_asking)):
        client.ask()
    getattr(client.tracker, when).append(client.ask if is_asking else client.get)
    client.look()
    assert not client.sharing.others_wait()


@given(SMALL, SMALL)
def test_no_more_servers_are_given_back_than_others_wait_for(held, others):
    client = Client(Tracker(registered=4, others=others))
    for _ in range(held):
        client.ask()
        client.get()
    client.look()
    given_back = [client.sharing.gives_back(0.0, is_idle=True) for _ in range(held)]
    assert given_back == [number < others for number in range(held)]
    assert client.sharing.others_wait() == (others > held)
    client.ask()
    with patch.object(sharing, "_SHORT_SECONDS", 0.0):
        assert bool(client.sharing.waiting_text()) == (held <= others)


@given(st.floats(0, 3 * TURN_SECONDS), st.booleans(), SMALL)
@example(TURN_SECONDS, False, 1)
def test_a_turn_ends_after_its_time_or_with_the_work(held_seconds, is_idle, others):
    client = Client(Tracker(others=others))
    client.look()
    is_over = is_idle or held_seconds >= TURN_SECONDS
    assert client.sharing.gives_back(held_seconds, is_idle) == (others > 0 and is_over)


@given(st.integers(0, 4), st.integers(0, 4), st.sampled_from(("", "it is gone")))
def test_who_waits_is_told_for_what(registered, free, trouble):
    client = Client(Tracker(registered, min(free, registered), 0, trouble))
    client.ask()
    client.look()
    busy = registered - client.tracker.free
    with patch.object(sharing, "_SHORT_SECONDS", 0.0):
        text = client.sharing.waiting_text()
    if trouble:
        assert text == f"waits for a server of the device: {trouble}"
    elif registered:
        verb = "is" if busy == 1 else "are"
        assert (
            text == f"waits for a server of the device: {busy} of {registered} {verb} with others"
        )
    else:
        assert text == "waits for a server of the device: tracker host:9190 has none now"


def test_who_waits_shortly_or_has_a_server_is_told_nothing():
    client = Client(Tracker())
    assert client.sharing.waiting_text() == ""
    client.ask()
    client.look()
    assert client.sharing.waiting_text() == ""
    with patch.object(sharing, "_SHORT_SECONDS", 0.0):
        assert client.sharing.waiting_text()
        client.get()
        assert client.sharing.waiting_text() == ""
        client.sharing.lost()
        assert client.sharing.waiting_text() == ""  # before it asks again
        client.ask()
        assert client.sharing.waiting_text()


def test_the_wait_begins_with_the_first_request_that_stands_in_line():
    client = Client(Tracker())
    client.look()
    for _ in range(2):
        client.ask()
        time.sleep(0.02)
    with patch.object(sharing, "_SHORT_SECONDS", 0.03):
        assert client.sharing.waiting_text()
    for _ in range(2):
        client.sharing.has_asked(was_given=False)
    client.ask()
    with patch.object(sharing, "_SHORT_SECONDS", 30.0):
        assert client.sharing.waiting_text() == ""


def test_servers_are_seen_when_there_are_some():
    client = Client(Tracker(registered=0))
    before = client.sharing.last_seen
    client.look()
    assert client.sharing.last_seen == before
    client.tracker.registered = 1
    client.look()
    assert client.sharing.last_seen > before
