"""Servers on other hosts, which a fake ssh has on this one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from served import running, running_tracker

from npu_target.device import preset
from rpc_server.launch import HostsError, read_hosts
from rpc_server.launchers import launch_command
from rpc_server.tracker_client import TrackerClient, device_key, wait_for_servers

CONFIG = preset("gemmini-16x16")
KEY = device_key(CONFIG)

# As the real one it has a shell there take the words after the host apart.
_FAKE_SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
host=$2
shift 2
case $host in bad*) echo "ssh: Could not resolve hostname $host" >&2; exit 255;; esac
exec sh -c "$*"
"""


@pytest.fixture
def with_ssh(tmp_path):
    """Settings of a process that finds the fake ssh, and only that."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ssh").write_text(_FAKE_SSH)
    (folder / "ssh").chmod(0o755)
    return {"env": {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}}


def hosts_file(tmp_path, *lines):
    file = tmp_path / "hosts"
    file.write_text("\n".join(lines) + "\n")
    return file


def launching(address, file, **settings):
    return running(
        "devices", "--tracker", address, "--launch=ssh", "--hosts", file, "--count=1", **settings
    )


@pytest.mark.long
@pytest.mark.rpc
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_servers_on_hosts_of_a_list_live_as_long_as_this_command(tmp_path, with_ssh, how):
    file = hosts_file(tmp_path, "# the rack", "one", "", "me@two  # spare")
    with running_tracker() as (_, address):
        with launching(address, file, **with_ssh) as process:
            wait_for_servers(address, KEY, 2, 90)
            family = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(how)
            code = process.wait(30)
            assert not psutil.wait_procs(family, timeout=20)[1]
            said = process.stdout.read()
        assert code == (0 if how == signal.SIGINT else -signal.SIGKILL)
        assert "one: serving gemmini-16x16 on" in said
        assert "me@two: 1 server(s) of gemmini-16x16 registered" in said
        with TrackerClient(address) as client:
            deadline = time.monotonic() + 10
            while client.servers() and time.monotonic() < deadline:
                time.sleep(0.1)
            assert not client.servers()


@pytest.mark.rpc
def test_a_host_that_fails_is_named_and_the_others_go_on(tmp_path, with_ssh):
    file = hosts_file(tmp_path, "bad", "good")
    with running_tracker() as (_, address):
        with launching(address, file, **with_ssh) as process:
            wait_for_servers(address, KEY, 1, 90)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 1
            error = process.stderr.read()
    why = "no servers on bad (exit code 255): ssh: Could not resolve hostname bad"
    assert f"{why}; others go on" in error
    assert error.splitlines()[-1] == f"npu-target serve devices: error: {why}"


def test_when_all_hosts_fail_it_ends(tmp_path, with_ssh):
    file = hosts_file(tmp_path, "bad1", "bad2")
    with launching("127.0.0.1:1", file, **with_ssh) as process:
        assert process.wait(60) == 1
        last = process.stderr.read().splitlines()[-1]
    assert "bad1 (exit code 255)" in last and "bad2 (exit code 255)" in last


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["one", "-oProxyCommand=x"], r"line 2: '-oProxyCommand=x' is no host"),
        (["one two"], "line 1: 'one two' is no host"),
        (["one", "two", "one"], "line 3: one is in line 1 already"),
        (["# nobody"], "has no hosts; one a line"),
    ],
)
def test_lists_that_are_none(tmp_path, lines, says):
    with pytest.raises(HostsError, match=says):
        read_hosts(hosts_file(tmp_path, *lines))
    with pytest.raises(HostsError, match="is no list of hosts"):
        read_hosts(tmp_path / "none")


def test_what_is_run_here():
    command = ["/usr/bin/python3", "-m", "npu_target", "--run-with=my sim {elf}"]
    *begin, host, text = launch_command("ssh", "me@box", command)
    assert begin[0] == "ssh" and begin[-1] == "--" and host == "me@box"
    split = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {text}"], capture_output=True, text=True, check=True
    )
    assert split.stdout.splitlines() == command
    assert launch_command("srun", "n1", command)[-len(command) - 1 :] == ["--nodelist=n1", *command]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--launch=ssh"], "--launch ssh needs --hosts FILE"),
        (["--hosts=x"], "--hosts needs --launch ssh or --launch srun"),
        (["--launch=ssh", "--hosts=x"], "that listen on other hosts' loopback"),
    ],
)
def test_options_that_do_not_go_together(options, says):
    command = [sys.executable, "-m", "npu_target", "serve", "devices", "--tracker=farm:9190"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and says in done.stderr
