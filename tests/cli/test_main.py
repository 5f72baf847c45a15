"""`npu-target`: its commands, their options, and how they end."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import re
import signal
import subprocess
import sys
from collections import defaultdict

import pytest
from command_lines import build, misuse, said

import npu_target
from npu_target.cli import errors
from npu_target.cli.main import main, make_parser, parse
from npu_target.cli.parsers import leaves
from npu_target.device import presets
from npu_target.errors import UserError
from npu_target.jobs.errors import Stopped, UsageError, of_option

COMMAND = (sys.executable, "-m", "npu_target")
# Options that mean the same everywhere, but whose defaults or values do not.
_OWN = {
    "--input": "of sim by argument",
    "--output": "of sim by argument",
    "--json": "of sim may be left without a file",
    "--name": "of a stream",
    "--count": "",
}


LEAVES = {leaf.prog: leaf for leaf in leaves(make_parser())}


def run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=300, **options
    )


def test_alone_it_says_in_a_screenful_what_each_command_does(capsys):
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    alone = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--help"])
    assert capsys.readouterr().out == alone
    lines = alone.splitlines()
    assert len(lines) <= 32 and max(map(len, lines)) <= 80
    for prog in LEAVES:
        assert re.search(rf"^  {prog.split()[1]} +\w", alone, re.MULTILINE), prog


@pytest.mark.parametrize("prog", LEAVES)
def test_every_command_has_help_and_a_job(prog, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*prog.split()[1:], "--help"])
    assert ended.value.code == 0
    assert f"usage: {prog} " in capsys.readouterr().out
    job = LEAVES[prog].get_default("job")
    assert importlib.util.find_spec(f"npu_target.jobs.{job}") is not None
    for action in LEAVES[prog]._actions:
        assert action.help or action.dest == "file", f"{prog}: {action.dest} is not explained"


def test_an_option_is_the_same_everywhere():
    seen = defaultdict(dict)
    for prog, leaf in LEAVES.items():
        for action in leaf._actions:
            for option in action.option_strings:
                kind = (action.dest, action.metavar, action.type, action.nargs)
                seen[option][prog] = kind if option not in _OWN else None
    assert len(seen["--device"]) > 10 and len(seen["--model"]) > 6
    for option, kinds in seen.items():
        if option in ("--port", "-h", "--help"):
            continue
        by_kind = set(kinds.values())
        if option in ("-o", "--model"):  # of a file or of a folder; without a file
            by_kind = {(dest, *rest) for dest, _, *rest in by_kind if dest in ("output", "model")}
        assert len(by_kind) == 1, (option, kinds)


def test_nothing_heavy_is_imported_before_a_job():
    script = (
        "import sys; from npu_target.cli.main import parse; "
        "parse(['build', '--model', 'x', '-o', 'y']); "
        "heavy = ('numpy', 'rich', 'tornado', 'tvm', 'tvm_ffi'); "
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "[]\n", done.stderr


def test_the_versions_and_the_devices(capsys):
    from importlib.metadata import version

    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith(f"npu-target {npu_target.__version__}\nTVM {version('apache-tvm')}\n")
    assert all(name in out for name in presets())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tune", "--model=tiny", "--seed=-1"], "npu-target tune: error: argument --seed: must be"),
        (["tune", "--model=tiny", "--seed=2147483648"], "--seed: must be less than 2**31"),
        (["build", "--model=tiny", "-o", "x", "--weights-seed=-1"], "--weights-seed: must be at"),
        (["tune", "--model=tiny", "--timeout=nan"], "--timeout: must be more than 0, got nan"),
        (["tune"], "npu-target tune: error: one of the arguments --model --op is required"),
        (["build", "-o=x"], "error: the following arguments are required: --model"),
        (
            ["tune", "--model=tiny", "--mod"],
            "npu-target tune: error: unrecognized arguments: --mod",
        ),
        (["brew"], "npu-target: error: argument command: invalid choice: 'brew'"),
        (["serve"], "npu-target serve: error: the following arguments are required"),
        (["serve", "tracker", "--port=65536"], "--port: must be at most 65535"),
        (["serve", "tracker", "--port=x"], "--port: must be a whole number, got 'x'"),
        (["tune", "--model=tiny", "--tracker=x"], "argument --tracker: 'x' is not HOST:PORT"),
        (["logs", "remeasure", "x", "--tracker=:1"], "argument --tracker: ':1' is not HOST:PORT"),
        (["serve", "status", "--tracker=x"], "argument --tracker: 'x' is not HOST:PORT"),
    ],
)
def test_wrong_options_are_a_line_and_the_code_2(arguments, says, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1 and error.endswith(" --help\n")


def test_what_goes_wrong_in_a_job_is_a_line_and_a_code(capsys):
    def ends(error: BaseException) -> tuple[int, str]:
        def work() -> int:
            raise error

        return errors.report_errors("npu-target it", work), capsys.readouterr().err

    assert ends(UsageError("no")) == (
        2,
        "npu-target it: error: no; see: npu-target it --help\n",
    )
    with pytest.raises(UsageError, match="argument --op: no operator"), of_option("--op"):
        raise UserError("no operator")
    assert ends(Stopped("half is\ndone")) == (130, "npu-target it: stopped; half is done\n")
    assert ends(KeyboardInterrupt()) == (130, "npu-target it: stopped\n")
    assert ends(OSError(36, "File name too long", "a" * 300)) == (
        1,
        f"npu-target it: error: {'a' * 300}: File name too long\n",
    )
    assert ends(OSError("odd")) == (1, "npu-target it: error: odd\n")
    for bug in (ZeroDivisionError, ImportError):  # is shown as what it is
        with pytest.raises(bug):
            ends(bug())
    assert errors.report_errors("x", lambda: 0) == 0


def test_any_error_for_the_user_is_a_line(capsys):
    """Each class that there is, of each module."""
    for module in pkgutil.walk_packages(npu_target.__path__, "npu_target."):
        if module.name.rpartition(".")[2].endswith("errors"):
            importlib.import_module(module.name)
    kinds = [UserError]
    for kind in kinds:
        kinds += kind.__subclasses__()

        def work(kind=kind) -> int:
            raise kind.__new__(kind, "what is wrong")  # some take more than a text

        assert errors.report_errors("npu-target it", work) == 1
        assert said(capsys.readouterr().err) == "what is wrong\n"
    assert len(kinds) > 20


# ---- standard output ---------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["--version", "--help", "program c --header"])
@pytest.mark.parametrize(
    ("redirected", "code", "lines"),
    [('"$@" >&-', 0, 0), ('(sleep 0.3; "$@") | true', 0, 0), ('"$@" > /dev/full', 1, 1)],
)
def test_output_that_cannot_be_written(command, redirected, code, lines):
    """Where nobody wants it, or any more, all is done; a full disk is an error."""
    environment = {name: os.environ[name] for name in os.environ if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", redirected, "bash", *COMMAND, *command.split()],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr.count("\n")) == (code, lines), done.stderr
    assert done.stderr.startswith("npu-target") or not lines


# ---- names and places --------------------------------------------------------------------------

_LONG = "a" * 300


@pytest.mark.parametrize(
    "options",
    [
        ["--model=tiny", "-o", f"{_LONG}.so"],
        ["--model=tiny", "-o", "x.so", f"--json={_LONG}"],
        ["--model=tiny", "-o", "x.so", f"--logs={_LONG}"],
        ["--model=tiny", "-o", "x.so", f"--device={_LONG}"],
        ["--model=tiny", "-o", "x.so", f"--dump={_LONG}"],
        ["--model=tiny", "-o", "x.so", f"--runner={_LONG}"],
        [f"--model={_LONG}", "-o", "x.so"],
        [f"--model={_LONG}.onnx", "-o", "x.so"],
        ["--model=tiny", "-o", "/proc/x.so"],
        ["--model=tiny", "-o", "/dev/null/x.so"],
    ],
)
@pytest.mark.usefixtures("tiny_model")
def test_names_and_places_that_cannot_be_are_a_line(options, capsys, tmp_path, monkeypatch):
    """Before the network is loaded, which is what takes time."""
    from npu_target.jobs import build as job

    monkeypatch.setattr(job, "choose", None)
    monkeypatch.chdir(tmp_path)
    assert build(options) == 1
    assert said(capsys.readouterr().err)
    assert not list(tmp_path.iterdir())


def test_a_name_that_just_fits_can_be_written(tmp_path):
    from npu_target.files import WriteError, check_can_write, write_atomically

    fits, does_not = tmp_path / ("b" * 255), tmp_path / ("b" * 256)
    check_can_write(fits)
    write_atomically(fits, b"1")
    assert fits.read_bytes() == b"1"
    with pytest.raises(WriteError, match="File name too long"):
        check_can_write(does_not)


# ---- Ctrl-C ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "imported",
    ["npu_target.cli.start", "argcomplete", "npu_target.cli.main", "tvm_ffi.core", "tvm.runtime"],
)
def test_ctrl_c_while_it_starts_is_a_line(imported):
    """At the moment when so much has been imported."""
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", *COMMAND[1:], "build", "--model=resnet18", "-o", "x"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if line.rpartition("|")[2].strip() == imported:
                process.send_signal(signal.SIGINT)
                break
        rest = [line for line in process.stderr if not line.startswith("import time:")]
        code = process.wait(60)
    finally:
        process.kill()
        process.communicate()
    assert code == 130, rest
    assert rest in (["npu-target: stopped\n"], ["npu-target build: stopped\n"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_a_library_turns_into_another_error_is_still_one(number):
    """In the process of a command, with a job that goes on as this does."""
    script = (
        "import os, signal\n"
        "from npu_target.cli import start\n"
        "from npu_target.jobs import completion as job\n"
        "def run(options):\n"
        "    try:\n"
        f"        os.kill(os.getpid(), {int(number)})\n"
        "    except KeyboardInterrupt:\n"
        "        raise RuntimeError('from a callback')\n"
        "job.run = run\n"
        "start.start()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "completion", "bash"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (130, "npu-target completion: stopped\n")


# ---- completion --------------------------------------------------------------------------------


def completions(line: str) -> set[str]:
    """What a shell would offer."""
    environment = {
        **os.environ,
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_SHELL": "fish",
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "_ARGCOMPLETE_STDOUT_FILENAME": "/dev/stdout",
    }
    done = run(env=environment)
    return {text.partition("\t")[0] for text in done.stdout.splitlines()}


def test_commands_options_and_devices_are_completed():
    assert completions("npu-target c") == {"calibrate", "compile", "completion"}
    assert completions("npu-target logs re") == {"repair", "remeasure"}
    assert completions("npu-target tune --tr") == {"--trials", "--tracker"}
    assert completions("npu-target build --device gemmini-8") == {"gemmini-8x8"}
    assert completions("npu-target tune --space r") == {"rules"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shells_get_their_code(shell, capsys):
    assert main(["completion", shell]) == 0
    code = capsys.readouterr().out
    assert "npu-target" in code
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=code, text=True, check=True)


def test_an_unknown_shell(capsys):
    assert "invalid choice: 'cmd'" in misuse(
        lambda arguments: main(["completion", *arguments]), capsys, "cmd"
    )


def test_what_is_kept_of_a_command_can_be_given_again():
    options = parse(["tune", "--model", "my net.onnx", "--trials", "7"])
    assert options.command_line == "npu-target tune --model 'my net.onnx' --trials 7"
