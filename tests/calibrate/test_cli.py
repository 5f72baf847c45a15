"""`npu-target calibrate`, on hardware that is simulated with another config."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from calibrate.fake_hardware import hardware, with_values
from calibrate.few_programs import few_experiments
from command_lines import calibrate, one_line

from npu_target.calibrate import experiments
from npu_target.calibrate.measurements import Measurements
from npu_target.device import load, preset
from npu_target.jobs import calibrate as job

DEFAULT = preset("gemmini-16x16")
COMMAND = "run {elf} {input} {output}"
HIDDEN = {"l2_hit_latency_cycles": 25}
# Of all fields those that few programs tell apart quickly.
KEPT = [
    option
    for field in DEFAULT.numbers()
    if field.startswith(("dram_", "host_c", "host_b", "host_i"))
    and field in experiments.set_of(DEFAULT).fields
    for option in ("--keep", field)
]


@pytest.fixture
def on_hardware(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have the command run on hidden values; of all programs only few."""

    def install(values: Mapping[str, int] = HIDDEN, noise=lambda: 1.0) -> None:
        run = hardware(with_values(DEFAULT, values), noise)
        monkeypatch.setattr(job, "_runner", lambda options, config: run)

    monkeypatch.setattr(job, "experiments_of", lambda config, skip: few_experiments(config))
    install()
    return install


def test_it_finds_what_is_hidden(on_hardware, tmp_path: Path, capsys) -> None:
    file, saved = tmp_path / "m.json", tmp_path / "mine.json"
    arguments = ["--run-with", COMMAND, "--measurements", str(file), "--output", str(saved), *KEPT]
    assert calibrate(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for text in ("16 of 16 programs measured", "l2_hit_latency_cycles", "layers, not fitted to"):
        assert text in out
    mine = load(saved)
    assert mine == DEFAULT.replace(name="mine", **HIDDEN)
    # The same measurements, from there on: nothing is left to explain, and nothing runs.
    on_hardware({"l2_hit_latency_cycles": 11})
    assert calibrate(["--measurements", str(file), "--device", str(saved), *KEPT]) == 0
    assert "No field with another value explains more" in capsys.readouterr().out


def test_a_field_that_the_owner_knows_is_kept(on_hardware, tmp_path: Path, capsys) -> None:
    arguments = ["--run-with", COMMAND, *KEPT, "--keep", "l2_hit_latency_cycles"]
    saved = tmp_path / "mine.json"
    assert calibrate([*arguments, "--output", str(saved)]) == 0
    assert load(saved).l2_hit_latency_cycles == DEFAULT.l2_hit_latency_cycles


def test_sizes_are_fitted_when_asked_for(on_hardware, tmp_path: Path) -> None:
    on_hardware({"loads_in_flight": 1})
    arguments = ["--run-with", COMMAND, *KEPT, "--output", str(tmp_path / "mine.json")]
    assert calibrate(arguments) == 0
    assert load(tmp_path / "mine.json").loads_in_flight == DEFAULT.loads_in_flight
    assert calibrate([*arguments, "--also", "loads_in_flight"]) == 0
    found = load(tmp_path / "mine.json")
    assert found == DEFAULT.replace(name="mine", loads_in_flight=1)


def test_ctrl_c_keeps_what_was_measured(on_hardware, tmp_path: Path, capsys, monkeypatch) -> None:
    file = tmp_path / "m.json"
    left = 4
    run = hardware(DEFAULT)

    def dies(program, arrays):
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return run(program, arrays)

    monkeypatch.setattr(job, "_runner", lambda options, config: dies)
    arguments = ["--run-with", COMMAND, "--measurements", str(file), *KEPT]
    assert calibrate(arguments) == 130
    assert (
        capsys.readouterr().err
        == f"npu-target calibrate: stopped; 4 of 16 runs are kept in {file}\n"
    )
    assert Measurements.load(file).runs == 4
    # What there is can be fitted to; and it goes on where it was.
    assert calibrate(["--measurements", str(file), *KEPT]) == 0
    assert "4 of 16 programs measured" in capsys.readouterr().out
    monkeypatch.setattr(job, "_runner", lambda options, config: run)
    assert calibrate(arguments) == 0
    assert Measurements.load(file).runs == 16
    assert calibrate(["--run-with", COMMAND, *KEPT, "--repeat", "2"]) == 0
    assert "differ by 0.00 % from run to run" in capsys.readouterr().out


def test_a_runner_that_fails_leaves_what_was_measured(
    on_hardware, tmp_path: Path, capsys, monkeypatch
) -> None:
    from npu_target.external.errors import RunTimedOut

    def run(program, arrays):
        if program.name.startswith("load full"):
            raise RunTimedOut("the command was not done after 5 s")
        return hardware(DEFAULT)(program, arrays)

    monkeypatch.setattr(job, "_runner", lambda options, config: run)
    file = tmp_path / "m.json"
    assert calibrate(["--run-with", COMMAND, "--measurements", str(file)]) == 1
    assert capsys.readouterr().err == (
        "npu-target calibrate: error: load full rows side by side, once: "
        "the command was not done after 5 s\n"
    )
    assert Measurements.load(file).runs == 6


def test_hopeless_noise(on_hardware, tmp_path: Path, capsys) -> None:
    random = np.random.default_rng(0)
    on_hardware(noise=lambda: float(random.uniform(0.5, 1.5)))
    arguments = ["--run-with", COMMAND, "--repeat", "3", "--output", str(tmp_path / "mine.json")]
    assert calibrate(arguments) == 1
    assert "nothing can be learnt" in capsys.readouterr().err
    assert not (tmp_path / "mine.json").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "nothing to fit to: --run-with gives a command"),
        (["--measurements", "{tmp}/none.json"], "nothing to fit to"),
        (["--run-with", COMMAND, "--repeat", "0"], "--repeat: must be at least 1, got 0"),
        (
            ["--run-with", COMMAND, "--output", "{tmp}/no/x.json"],
            "x.json cannot be written: the",
        ),
        (["--run-with", COMMAND, "--keep", "dim"], "--keep dim: is none of the fields"),
        (["--run-with", COMMAND, "--also", "what"], "--also what: is none of the fields"),
        (["--run-with", COMMAND, "--device", "what"], "no device is called 'what'"),
        (["--run-with", COMMAND, "--device", "{tmp}/noset.json"], "kind .* have no set"),
        (
            ["--run-with", "other {elf}", "--measurements", "{tmp}/m.json"],
            "has what --run-with=run",
        ),
        (
            ["--run-with", "run", "--elf-for", "baremetal", "--measurements", "{tmp}/m.json"],
            "has what --run-with=run",
        ),
        (["--measurements", "{tmp}/m.json", "--device", "gemmini-8x8"], "with dim 16, .* has 8"),
        (["--measurements", "{tmp}/m.json"], "no more than one program was measured"),
        (["--run-with", COMMAND, "--output", "{tmp}/a b.json"], "name is 'a b'"),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str], says: str, on_hardware, tmp_path: Path, capsys, monkeypatch
) -> None:
    import re

    Measurements("--run-with=run --elf-for=linux", few_experiments()).save(tmp_path / "m.json")
    preset("vta-1x16x16").save(tmp_path / "noset.json")
    given = [argument.replace("{tmp}", str(tmp_path)) for argument in arguments]
    error = one_line(calibrate, capsys, *given)
    assert re.search(says, error), error


def test_a_command_that_cannot_be_started(tmp_path: Path, capsys) -> None:
    assert calibrate(["--run-with", "no-such-program {elf}", "--skip", "layers"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("npu-target calibrate: error: ") and err.count("\n") == 1
