"""Who may use servers: a token that both sides know, and certificates for TLS.

TVM's RPC asks nobody for anything. Where a token is given, a door (`rpc_server.door`) stands in
front of each tracker and server, and not a byte passes it before both sides have proved to each
other that they know the token, which itself is never sent.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import stat
from dataclasses import dataclass, field
from pathlib import Path

from npu_target.errors import UserError

TOKEN_VARIABLE = "NPU_TARGET_TOKEN"
_LEAST_CHARACTERS = 16
_MAKE_ONE = "make one with: (umask 077; openssl rand -hex 32 > FILE)"


class CredentialsError(UserError, ValueError):
    """A token or a certificate that cannot be used."""


@dataclass(frozen=True)
class Credentials:
    """What a client has: a token, None where servers ask for none, and the file of certificates of
    which one must have signed a server's, None where the way to it is not encrypted."""

    token: bytes | None = field(default=None, repr=False)
    tls_ca: Path | None = None

    def tls(self) -> ssl.SSLContext | None:
        """For connections to servers. Raises CredentialsError for a file that has no certificates.

        Names are not compared, since servers are found by addresses: instead both sides prove that
        they know the token *and* mean this certificate.
        """
        if self.tls_ca is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        try:
            context.load_verify_locations(self.tls_ca)
        except (OSError, ssl.SSLError) as error:
            raise CredentialsError(f"{self.tls_ca} is no file of certificates: {error}") from error
        return context


# Of those who use what TVM's RPC gives, and no more.
NONE = Credentials()


@dataclass(frozen=True)
class DoorKeeper:
    """What a door asks for, a token, and what it shows, a certificate with its key; None without
    TLS."""

    token: bytes = field(repr=False)
    certificate: Path | None = None
    key: Path | None = None

    def tls(self) -> ssl.SSLContext | None:
        """Raises CredentialsError for files that are no certificate with its key."""
        if self.certificate is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            raise CredentialsError(
                f"{self.certificate} and {self.key} are no certificate with its key: {error}"
            ) from error
        return context

    def binding(self) -> bytes:
        """What ties the proofs to this door's certificate."""
        if self.certificate is None:
            return b""
        text = self.certificate.read_text(encoding="ascii", errors="replace")
        begin = text.index(ssl.PEM_HEADER)
        end = text.index(ssl.PEM_FOOTER, begin) + len(ssl.PEM_FOOTER)
        return certificate_binding(ssl.PEM_cert_to_DER_cert(text[begin:end]))


def certificate_binding(der: bytes) -> bytes:
    """What ties proofs to a certificate."""
    return hashlib.sha256(der).digest()


def read_credentials(token_file: Path | None, tls_ca: Path | None) -> Credentials:
    """Those of a client, the token as `read_token` finds it. Raises CredentialsError for files that
    are not what they should be."""
    found = Credentials(read_token(token_file), tls_ca)
    if tls_ca is not None and found.token is None:
        raise CredentialsError("--tls-ca needs --token-file: servers with TLS ask for a token")
    found.tls()
    return found


def read_token(file: Path | None) -> bytes | None:
    """The token in `file`, else that of the environment variable NPU_TARGET_TOKEN, else None.

    Raises CredentialsError for one that is too short, or that others can read.
    """
    if file is None:
        text, where = os.environ.get(TOKEN_VARIABLE, ""), f"${TOKEN_VARIABLE}"
        if not text:
            return None
    else:
        where = str(file)
        try:
            if stat.S_IMODE(file.stat().st_mode) & 0o077:
                raise CredentialsError(f"{file} can be read by others: chmod 600 {file}")
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CredentialsError(f"{file} is no file with a token: {error}") from error
    token = text.strip()
    if len(token) < _LEAST_CHARACTERS:
        raise CredentialsError(
            f"the token in {where} has {len(token)} characters, needed are {_LEAST_CHARACTERS}; "
            f"{_MAKE_ONE}"
        )
    return token.encode()
