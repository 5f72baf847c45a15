"""A command that runs nothing and misbehaves as told: `python fake_runner.py HOW ANSWER OUTPUT`.

HOW is a word of `BEHAVIOURS`, or `@FILE`, a file that has one in each line: the first is taken off,
and when there is none left, all goes well. ANSWER is the file with the bytes of a right run, OUTPUT
where they go, `-` the console. Cycles depend on ELF, if there is a file of that name.
"""

from __future__ import annotations

import subprocess
import sys
import time
import zlib
from pathlib import Path

_SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]

# What each leads to, as a kind of failure; None for none.
BEHAVIOURS = {
    "well": None,
    "noise": None,
    "leave a child": None,
    "hang": "timed_out",
    "fail": "run_error",
    "refuse": "race",
    "no cycles": "bad_answer",
    "nonsense": "bad_answer",
    "no time": "bad_answer",
    "two answers": "bad_answer",
    "none": "bad_answer",
    "few": "bad_answer",
    "many": "bad_answer",
    "endless": "bad_answer",
    "wrong": "wrong_result",
}


def main(how: str, answer: str, output: str, elf: str = "") -> int:
    data = Path(answer).read_bytes()
    if how.startswith("@"):
        how = _next(Path(how[1:]))
    count = 1000 + zlib.crc32(Path(elf).read_bytes()) % 1000 if elf else 1234
    cycles = f"npu cycles {count}"
    if how == "hang":
        subprocess.Popen([*_SLEEP, answer])
        subprocess.Popen(["setsid", *_SLEEP, answer])
        time.sleep(600)
    if how == "fail":
        print("something is", file=sys.stderr)
        print("out of order", file=sys.stderr)
        return 3
    if how == "refuse":
        print("NpuDeviceError [race] command 7 mvin(...): too early", file=sys.stderr)
        return 1
    if how == "leave a child":
        subprocess.Popen([*_SLEEP, answer])
    if how == "no cycles":
        cycles = "all is well"
    elif how == "nonsense":
        cycles = "npu cycles many"
    elif how == "no time":
        cycles = "npu cycles 0"
    elif how == "two answers":
        cycles = "npu cycles 5\nnpu cycles 6"
    elif how == "noise":
        cycles = f"[UART] \x1b[0m npu cycles {count}\r\nnot an npu output 3 zz\n\xff"
    elif how == "endless":
        while True:
            print("x" * 1_000_000)
    elif how == "wrong":
        data = bytes(byte ^ (index == 3) for index, byte in enumerate(data))
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


def _next(path: Path) -> str:
    first, _, rest = path.read_text().partition("\n")
    path.write_text(rest)
    return first or "well"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
