"""The code by which a shell completes `npu-target`."""

from __future__ import annotations

import argparse

from argcomplete import shellcode


def run(options: argparse.Namespace) -> int:
    print(shellcode(["npu-target"], shell=options.shell), end="")
    return 0
