"""How two sides prove to each other that they know a token, without sending it.

    door    NPUDOOR1, 32 random bytes
    client  32 random bytes, HMAC-SHA-256 of "client", both random numbers and the binding
    door    Y, HMAC-SHA-256 of "server", both random numbers and the binding; or 33 times N

The random numbers are new for each connection, so that what was heard is of no use another time;
the two words keep a proof from being sent back as the other's; the binding is the certificate's
digest where there is TLS, so that nobody with another certificate can pass proofs on.
"""

from __future__ import annotations

import hmac
import secrets

_GREETING = b"NPUDOOR1"
_RANDOM_BYTES = 32
_PROOF_BYTES = 32
_YES, _NO = b"Y", b"N" * (1 + _PROOF_BYTES)

CHALLENGE_BYTES = len(_GREETING) + _RANDOM_BYTES
ANSWER_BYTES = _RANDOM_BYTES + _PROOF_BYTES
VERDICT_BYTES = 1 + _PROOF_BYTES


class HandshakeError(Exception):
    """The other side is not what it should be; the text says what it is."""


def is_greeting(data: bytes) -> bool:
    """Whether something begins as a door does."""
    return bool(data) and _GREETING.startswith(data[: len(_GREETING)])


class DoorSide:
    """One connection, as the door sees it."""

    def __init__(self, token: bytes, binding: bytes) -> None:
        self._token = token
        self._binding = binding
        self._random = secrets.token_bytes(_RANDOM_BYTES)
        self.challenge = _GREETING + self._random

    def verdict(self, answer: bytes) -> tuple[bool, bytes]:
        """Whether a client's answer proves that it knows the token, and what to send it."""
        theirs, proof = answer[:_RANDOM_BYTES], answer[_RANDOM_BYTES:]
        numbers = self._random + theirs
        if not hmac.compare_digest(proof, _proof(self._token, b"client", numbers, self._binding)):
            return False, _NO
        return True, _YES + _proof(self._token, b"server", numbers, self._binding)


class ClientSide:
    """One connection, as the client sees it."""

    def __init__(self, token: bytes, binding: bytes) -> None:
        self._token = token
        self._binding = binding
        self._random = secrets.token_bytes(_RANDOM_BYTES)
        self._numbers = b""

    def answer(self, challenge: bytes) -> bytes:
        """What to send to a door. Raises HandshakeError where there is none."""
        if not challenge.startswith(_GREETING):
            raise HandshakeError("asks for no token: leave it out, or start it with one")
        self._numbers = challenge[len(_GREETING) :] + self._random
        return self._random + _proof(self._token, b"client", self._numbers, self._binding)

    def check(self, verdict: bytes) -> None:
        """Raises HandshakeError unless the door let this side in and knows the token as well."""
        if verdict == _NO:
            raise HandshakeError("has another token")
        proof = _proof(self._token, b"server", self._numbers, self._binding)
        if verdict[:1] != _YES or not hmac.compare_digest(verdict[1:], proof):
            raise HandshakeError("does not prove that it knows the token, so nothing is sent to it")


def _proof(token: bytes, who: bytes, numbers: bytes, binding: bytes) -> bytes:
    return hmac.digest(token, who + numbers + binding, "sha256")
