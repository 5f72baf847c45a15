"""`npu-target serve status`."""

from __future__ import annotations

import json

import pytest
from command_lines import refusal, said
from free_port import free_port
from served import running_tracker

from npu_target.cli.main import main
from npu_target.device import preset
from rpc_server.address import Address
from rpc_server.local import LocalServers
from rpc_server.tracker_client import TrackerClient, device_key

pytestmark = pytest.mark.rpc

CONFIG = preset("gemmini-16x16")
KEY = device_key(CONFIG)


def status(arguments):
    return main(["serve", "status", *arguments])


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    with LocalServers(CONFIG, 2, tmp_path_factory.mktemp("servers")) as running:
        yield running


def test_free_and_busy_servers_and_who_waits(servers, capsys, tmp_path):
    assert status([f"--tracker={servers.tracker}"]) == 0
    heads, row = (line.split() for line in capsys.readouterr().out.splitlines())
    assert heads == ["device", "hash", "by", "servers", "free", "busy", "waiting", "at"]
    assert row[:7] == [CONFIG.name, CONFIG.hash, "simulator", "2", "2", "0", "0"]

    clients = [TrackerClient(servers.tracker) for _ in range(3)]
    for client in clients:
        client.ask_for(KEY)
    given = [client.given(0.5) for client in clients]
    assert sum(endpoint is None for endpoint in given) == 1
    file = tmp_path / "status.json"
    assert status([f"--tracker={servers.tracker}", f"--json={file}"]) == 0
    capsys.readouterr()
    assert status([f"--tracker={servers.tracker}", "--json"]) == 0
    written = capsys.readouterr().out
    assert json.loads(written) == json.loads(file.read_text())
    (found,) = json.loads(written)["devices"]
    addresses = found.pop("addresses")
    assert found == {
        "device": CONFIG.name, "hash": CONFIG.hash, "runner": "", "servers": 2, "free": 0,
        "busy": 2, "waiting": 1,
    }  # fmt: skip
    assert sorted(addresses) == sorted(str(Address(*one[:2])) for one in given if one)
    for client in clients:
        client.close()


def test_of_another_device_there_is_none(servers, capsys):
    tracker = f"--tracker={servers.tracker}"
    assert status([tracker, f"--device={CONFIG.name}"]) == 0
    capsys.readouterr()
    error = refusal(status, capsys, tracker, "--device=gemmini-8x8")
    assert f"tracker {servers.tracker} has no server of gemmini-8x8" in error


def test_a_tracker_without_servers_and_none_at_all(capsys):
    with running_tracker() as (_, address):
        assert status([f"--tracker={address}", "--json"]) == 1
        out, error = capsys.readouterr()
        assert json.loads(out) == {"tracker": str(address), "devices": []}
        assert said(error) == f"tracker {address} has no server\n"
    nobody = Address("127.0.0.1", free_port())
    assert f"no tracker answers at {nobody}" in refusal(status, capsys, f"--tracker={nobody}")
