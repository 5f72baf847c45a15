from __future__ import annotations

import socket

import pytest

from rpc_server.address import Address, AddressError, check_can_bind, is_loopback


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:9190", "127.0.0.1", 9190),
        ("box:1", "box", 1),
        ("[::1]:65535", "::1", 65535),
    ],
)
def test_parse_and_print_round_trip(text, host, port):
    assert Address.parse(text) == (host, port)
    assert str(Address.parse(text)) == text


@pytest.mark.parametrize("text", ["", "9190", "box", "box:", ":9190", "box:0", "box:65536", "a:b"])
def test_what_is_no_address(text):
    with pytest.raises(AddressError, match="is not HOST:PORT, for example 127"):
        Address.parse(text)


def test_a_port_in_use_says_what_to_do():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = Address("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(AddressError, match=f"cannot listen on {address}: Address already"):
            check_can_bind(address)


def test_a_host_of_another_machine_cannot_be_bound():
    with pytest.raises(AddressError, match="--bind"):
        check_can_bind(Address("192.0.2.1", 0))


def test_loopback():
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "192.0.2.1", "box"))
