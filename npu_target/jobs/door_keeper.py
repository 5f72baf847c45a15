"""What the doors of servers ask for, by the options."""

from __future__ import annotations

import argparse

from rpc_server.credentials import DoorKeeper, read_token

from .errors import UsageError


def door_keeper(options: argparse.Namespace) -> DoorKeeper | None:
    """What doors ask for and show; None where anyone is let in.

    Raises UsageError, and CredentialsError for files that are not what they should be.
    """
    token = read_token(options.token_file)
    if (options.tls_cert is None) != (options.tls_key is None):
        raise UsageError("--tls-cert and --tls-key: give both, or neither")
    if token is None:
        if options.tls_cert is not None:
            raise UsageError("--tls-cert needs --token-file: TLS alone would let anyone in")
        return None
    keeper = DoorKeeper(token, options.tls_cert, options.tls_key)
    keeper.tls()  # raises now
    return keeper
