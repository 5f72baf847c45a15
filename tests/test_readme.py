"""The README's commands are true: every option exists, and every `sh` block runs, as a newcomer
would run it, in a fresh copy of the checkout. (`bash` blocks are what .ci/run does itself.) So are
those of the page that brings up a device: with the package that its first block writes."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import time

import pytest
from free_port import free_port
from markdown import PAGES, ROOT, blocks
from PIL import Image

from npu_target.cli.main import parse

README = ROOT / "README.md"
PORTING = ROOT / "docs" / "porting.md"
# Instead of the budgets that the README's commands have.
_TRIALS = "6"
_TESTS = "tests/devices/gemmini/test_config.py"
_BLOCK_SECONDS = 600
# The blocks of the first screen make the environment that the others expect to be active.
_SET_UP_BLOCKS = 2
_NOT_IN_A_COPY = shutil.ignore_patterns(
    ".git", ".venv", "venv", "build", "dist", "*.so", "__pycache__", ".*_cache", ".hypothesis"
)


def _commands(text: str) -> list[list[str]]:
    """The words of each command of a shell block, without redirections and background marks."""
    text = re.sub(r"<<'(\w+)'\n.*?\n\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"(?<=\s)[12]?>>?\s*\S+", "", text)
    lines = text.replace("\\\n", " ").splitlines()
    commands = [part for line in lines for part in re.split(r"&&|\||&|;", line)]
    return [words for words in (shlex.split(part, comments=True) for part in commands) if words]


def _ours(words: list[str]) -> list[str] | None:
    """The arguments of `npu-target` that a command stands for; None where it is another."""
    if "tune.py" in words:
        return ["tune", *words[words.index("tune.py") + 1 :]]
    if "npu-target" in words:
        return words[words.index("npu-target") + 1 :]
    return None


_OURS = sorted(
    {
        shlex.join(arguments)
        for page in PAGES
        for block in blocks(page, "sh")
        for arguments in filter(None, map(_ours, _commands(block.text)))
    }
)


@pytest.mark.parametrize("command", _OURS)
def test_options_exist(command):
    parse(shlex.split(command))


def test_all_commands_are_found():
    assert {shlex.split(command)[0] for command in _OURS} >= {"tune", "build", "run", "serve"}


def _shortened(text: str, port: int) -> str:
    """The block with a very small budget, and with a port that nobody else uses."""
    text = re.sub(
        r"((?:tune\.py|npu-target tune)(?:[^\n&|;\\]|\\\n)*)", rf"\1 --trials {_TRIALS} ", text
    )
    text = re.sub(r"(\bpytest(?:[^\n&|;\\]|\\\n)*)", rf"\1 {_TESTS} ", text)
    return text.replace("9190", str(port))


def _run(script: str, folder, **environment: str) -> str:
    """What a block prints. Whatever it leaves running is ended."""
    output = folder.with_suffix(".output")
    with output.open("w+") as file:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "COLUMNS": "120", **environment},
        )
        try:
            code = process.wait(_BLOCK_SECONDS)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        file.seek(0)
        text = file.read()
    assert code == 0, f"exit code {code} of:\n{script}\n{text}"
    return text


def _user_files(folder) -> None:
    """What the README takes from the user: a photograph and a generated header."""
    Image.new("RGB", (320, 240), (180, 120, 60)).save(folder / "photo.jpg")
    values = {"DIM": 16, "BANK_NUM": 4, "BANK_ROWS": 4096, "ACC_ROWS": 1024, "MAX_BYTES": 64}
    types = {"elem_t": "int8_t", "acc_t": "int32_t", "scale_t": "float", "acc_scale_t": "float"}
    flags = ("HAS_MVIN_SCALE", "ACC_READ_SMALL_WIDTH", "ACC_READ_FULL_WIDTH")
    lines = [f"#define {name} {value}" for name, value in values.items()]
    lines += [f"#define {name}" for name in flags]
    lines += [f"typedef {type_} {name};" for name, type_ in types.items()]
    (folder / "gemmini_params.h").write_text("\n".join(lines) + "\n")


@pytest.mark.slow
@pytest.mark.rpc
def test_every_block_runs_in_a_fresh_copy(tmp_path):
    folder = tmp_path / "npu_target"
    shutil.copytree(ROOT, folder, ignore=_NOT_IN_A_COPY)
    _user_files(folder)
    port = free_port()
    said = []
    for number, block in enumerate(blocks(README, "sh")):
        activate = ". .venv/bin/activate\n" if number >= _SET_UP_BLOCKS else ""
        script = _shortened(block.text, port)
        started = time.monotonic()
        said.append(_run(activate + script, folder))
        print(f"\n$ {script}{said[-1]}[{time.monotonic() - started:.0f} s]", flush=True)
    tuned, tested, *_ = said
    assert re.search(r"^.*\bconv2d_224x224x3_64_k7_s2_p3\b.*\d+\.\d+x", tuned, re.MULTILINE)
    assert "total" in tuned
    assert re.search(r"\b[1-9]\d* passed\b", tested)


def _beside(text: str, site) -> str:
    """The block with packages installed into a folder, which leaves the environment as it is, with
    a very small budget, and with the suite's first step for all of them."""
    options = f"--no-deps --no-build-isolation --no-index --target {site}"
    text = text.replace("pip install -e", f"python -m pip install -q {options}")
    text = re.sub(r"(conformance) ", r"\1.test_step1_manifest ", text)
    return re.sub(r"--trials \d+", f"--trials {_TRIALS}", text)


@pytest.mark.slow
@pytest.mark.rpc
def test_every_block_of_a_port_runs(tmp_path):
    folder, site = tmp_path / "checkout", tmp_path / "site"
    folder.mkdir()
    said = []
    for block in blocks(PORTING, "sh"):
        script = _beside(block.text, site)
        started = time.monotonic()
        said.append(_run(script, folder, PYTHONPATH=str(site)))
        print(f"\n$ {script}{said[-1]}[{time.monotonic() - started:.0f} s]", flush=True)
    passed = [re.search(r"\b[1-9]\d* passed\b", text) for text in said]
    assert [text is not None for text in passed] == [True] * 6 + [False] * 2
    assert "multiply  vector=32, matrix=16, to=8, rows=4, step=1" in said[2]
    assert re.search(r"^\d+ cycles: \[", said[3], re.MULTILINE)
    assert "uint64_t" in said[4]
    assert re.search(r"\bmatmul_1x512x1000\b", said[6])
