"""A command that runs nothing and misbehaves as told: `python fake_runner.py HOW ELF OUTPUT`."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


def main(how: str, elf: str, output: str) -> int:
    data = Path(elf).read_bytes()  # the answer of a right run
    cycles = "npu cycles 1234"
    if how == "hang":
        subprocess.Popen(SLEEP)
        subprocess.Popen(["setsid", *SLEEP])
        time.sleep(600)
    if how == "fail":
        print("something is", file=sys.stderr)
        print("out of order", file=sys.stderr)
        return 3
    if how == "refuse":
        print("NpuDeviceError [race] command 7 mvin(...): too early", file=sys.stderr)
        return 1
    if how == "leave a child":
        subprocess.Popen(SLEEP)
    if how == "no cycles":
        cycles = "all is well"
    elif how == "nonsense":
        cycles = "npu cycles many"
    elif how == "no time":
        cycles = "npu cycles 0"
    elif how == "two answers":
        cycles = "npu cycles 5\nnpu cycles 6"
    elif how == "noise":
        cycles = "[UART] \x1b[0m npu cycles 1234\r\nnot an npu output 3 zz\n\xff"
    elif how == "endless":
        while True:
            print("x" * 1_000_000)
    print(cycles)
    if output == "-":
        for begin in range(0, len(data), 8):
            if how != "a line lost" or begin != 8:
                print(f"npu output {begin} {data[begin : begin + 8].hex()}")
    elif how == "few":
        Path(output).write_bytes(data[:-1])
    elif how == "many":
        Path(output).write_bytes(data + b"!")
    elif how != "none":
        Path(output).write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
