"""Commands that run another on a host."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

LAUNCHERS = ("ssh", "srun")


def launch_command(launcher: str, host: str, command: Sequence[str]) -> list[str]:
    """What to run here so that `command` runs on `host`."""
    if launcher == "srun":
        return ["srun", "--nodes=1", "--ntasks=1", f"--nodelist={host}", *command]
    # It asks for nothing, since nobody may be there to answer.
    settings = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=15"]
    return ["ssh", *settings, "--", host, shlex.join(command)]
