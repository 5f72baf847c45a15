"""Doors: what listens in the place of TVM's RPC and passes its bytes on once a token is proved; and
the way to a door, for TVM's client, which knows of none.

Behind a door TVM's tracker or server listens on a Unix socket in a folder of its user's alone. The
way to a door listens on loopback, for processes of the same user alone.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from .address import LOOPBACK, Address
from .connecting import ConnectError, Streams, connect_streams
from .credentials import Credentials, DoorKeeper
from .handshake import ANSWER_BYTES, DoorSide

_HANDSHAKE_SECONDS = 10.0
# Of which nobody has proved anything yet; others wait.
_MOST_STRANGERS = 64
_CHUNK = 1 << 18
# Before a way that cannot be gone is closed: TVM's server tries again at once.
_PAUSE_SECONDS = 1.0


class Doors:
    """Doors and ways to doors, in a thread of their own. A context manager; `close` closes all.

    `trouble` is what was wrong when a way could last not be gone.
    """

    def __init__(self) -> None:
        self.trouble = ""
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._ways: dict[Address, Address] = {}
        self._servers: list[asyncio.Server] = []
        self._strangers = asyncio.Semaphore(_MOST_STRANGERS)
        self._thread = threading.Thread(target=self._loop.run_forever, name="doors", daemon=True)
        self._thread.start()

    def __enter__(self) -> Doors:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all connections that pass here. Safe to call twice."""
        if self._thread.is_alive():
            self._run(self._end())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def open(self, listener: socket.socket, inner: Path, keeper: DoorKeeper) -> None:
        """A door: who connects to `listener` and proves the token is connected to the Unix socket
        `inner`. Raises CredentialsError for a certificate that cannot be used."""
        context = keeper.tls()
        handle = partial(self._let_in, inner, keeper.token, keeper.binding())
        limits = {} if context is None else {"ssl_handshake_timeout": _HANDSHAKE_SECONDS}
        self._serve(handle, sock=listener, ssl=context, **limits)

    def way_to(self, address: Address, credentials: Credentials) -> Address:
        """Where on loopback processes of this user get to a door at `address`: for each one place,
        also for several threads."""
        with self._lock:
            if address not in self._ways:
                handle = partial(self._go, address, credentials)
                server = self._serve(handle, host=LOOPBACK, port=0)
                self._ways[address] = Address(LOOPBACK, server.sockets[0].getsockname()[1])
            return self._ways[address]

    def _serve(
        self, handle: Callable[..., Coroutine[Any, Any, None]], **how: Any
    ) -> asyncio.Server:
        server = self._run(asyncio.start_server(handle, **how))
        self._servers.append(server)
        return server

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _let_in(
        self,
        inner: Path,
        token: bytes,
        binding: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        try:
            async with self._strangers:
                is_in = await asyncio.wait_for(
                    _is_proved(token, binding, reader, writer), _HANDSHAKE_SECONDS
                )
            if not is_in:
                peer = Address(*writer.get_extra_info("peername")[:2])
                print(f"refused {peer}: wrong token", file=sys.stderr, flush=True)
                return
            await _splice((reader, writer), await asyncio.open_unix_connection(inner))
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
            pass  # a stranger that went away, or a server that is being started again
        except asyncio.CancelledError:
            pass  # all is being closed
        finally:
            writer.close()

    async def _go(
        self,
        address: Address,
        credentials: Credentials,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        try:
            if not _is_mine(writer):
                return
            there = await connect_streams(address, credentials)
            self.trouble = ""
            await _splice((reader, writer), there)
        except ConnectError as error:
            self.trouble = str(error)
            await asyncio.sleep(_PAUSE_SECONDS)
        except OSError:
            pass  # one of the two went away
        except asyncio.CancelledError:
            pass  # all is being closed
        finally:
            writer.close()


async def _is_proved(
    token: bytes, binding: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    side = DoorSide(token, binding)
    writer.write(side.challenge)
    is_proved, verdict = side.verdict(await reader.readexactly(ANSWER_BYTES))
    writer.write(verdict)
    await writer.drain()
    return is_proved


async def _splice(one: Streams, other: Streams) -> None:
    """Pass bytes on, both ways, until one side ends."""
    ways = [
        asyncio.ensure_future(_pass_on(one[0], other[1])),
        asyncio.ensure_future(_pass_on(other[0], one[1])),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for _, writer in (one, other):
            writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()


def _is_mine(writer: asyncio.StreamWriter) -> bool:
    """Whether a process of this user has the other end of a connection on loopback."""
    theirs, ours = (_in_hex(writer.get_extra_info(end)) for end in ("peername", "sockname"))
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in table:
            fields = line.split()
            if fields[1:3] == [theirs, ours]:
                return int(fields[7]) == os.getuid()
    return False


def _in_hex(address: tuple[str, int]) -> str:
    """As in /proc/net/tcp."""
    host, port = address
    number = int.from_bytes(socket.inet_aton(host), sys.byteorder)
    return f"{number:08X}:{port:04X}"
