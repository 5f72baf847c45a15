"""`npu-target accuracy`: its table, its JSON, and what it refuses."""

import json

import numpy as np
import pytest
from command_lines import accuracy as main
from command_lines import refusal
from network_files import scaled_blocks, wide_stores, write_integer_file

from npu_target.accuracy.ranks import Ranks
from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.numerics.scale_widths import pattern
from npu_target.schedule_rules import default_schedule
from npu_target.topi import Conv2d
from npu_target.tuning.choose import cycles_of


def arguments(path, *more):
    folder = path.parent
    return [f"--model={path}", f"--input={folder / 'inputs.npz'}", *map(str, more)]


def test_exact_differs_in_nothing(integer_file, capsys):
    folder = integer_file.parent
    more = (f"--labels={folder / 'labels.txt'}", f"--json={folder / 'out.json'}")
    assert main(arguments(integer_file, *more)) == 0
    printed = capsys.readouterr().out
    assert "small by the numbers of gemmini-16x16 against its own integers, 100 inputs" in printed
    assert "top-1: 100.00%" in printed and "top-5: 100.00%" in printed
    report = json.loads((folder / "out.json").read_text())
    assert [(layer["name"], layer["where"]) for layer in report["layers"]] == [
        ("first", "host"),
        ("second", "device"),
    ]
    assert all(layer["alone"]["differ"] == 0 for layer in report["layers"])
    assert report["outputs"] == [{"elements": 1000, "differ": 0, "most": 0.0, "snr_db": None}]
    assert (report["top1"], report["reference_top1"], report["samples"]) == (1.0, 1.0, 100)


def test_fast_says_what_differs(integer_file, capsys):
    path = integer_file.parent / "out.json"
    assert main(arguments(integer_file, "--numerics=fast", f"--json={path}")) == 0
    first, second = json.loads(path.read_text())["layers"]
    assert first["where"] == "device" and "steps are at other sums" in first["why"]
    assert first["alone"]["differ"] == first["accumulated"]["differ"] > 0
    assert first["alone"]["most"] == 1 and first["alone"]["snr_db"] > 20
    assert second["alone"]["differ"] == 0 < second["accumulated"]["differ"]
    assert "zero point in the bias" in capsys.readouterr().out


def test_a_choice_for_a_layer(integer_file, capsys):
    path = integer_file.parent / "out.json"
    more = ("--numerics=fast", "--exact=first", f"--json={path}")
    assert main(arguments(integer_file, *more)) == 0
    assert json.loads(path.read_text())["outputs"][0]["differ"] == 0
    capsys.readouterr()
    found = refusal(main, capsys, *arguments(integer_file, "--host=frist"))
    assert "no layer is called 'frist'; did you mean first?" in found
    found = refusal(main, capsys, *arguments(integer_file, "--host=first", "--on-device=first"))
    assert "first: both host and on-device are asked for" in found


@pytest.mark.usefixtures("tiny_model")
def test_of_a_network_in_float(tmp_path, capsys):
    image = np.random.default_rng(0).normal(size=(4, 32, 32, 3)).astype("float32")
    np.save(tmp_path / "images.npy", image)
    path = tmp_path / "out.json"
    assert main(["--model=tiny", f"--input={tmp_path / 'images.npy'}", f"--json={path}"]) == 0
    assert "against the float network, 4 inputs" in capsys.readouterr().out
    report = json.loads(path.read_text())
    noise = {layer["name"]: layer["accumulated"]["snr_db"] for layer in report["layers"]}
    assert len(noise) > 5
    # All are near, and none is nearer than 8 bits of these values can be.
    assert all(15 < snr_db < 60 for snr_db in noise.values()), noise
    alone = {layer["name"]: layer["alone"]["snr_db"] for layer in report["layers"]}
    assert all(20 < snr_db < 60 for snr_db in alone.values()), alone
    # What is behind others has their errors as well.
    last = report["layers"][-1]["name"]
    assert alone[last] > noise[last]
    assert {layer["where"] for layer in report["layers"]} == {"device", "host"}


def test_labels_that_do_not_fit(integer_file, capsys):
    labels = integer_file.parent / "wrong.txt"
    for text, message in (
        ("1\n2", "has 2 labels, there are 100 inputs"),
        ("cat", "a label is the number of a class, there is 'cat'"),
        ("10\n" * 100, "label 10: the network's first output has 10 classes"),
    ):
        labels.write_text(text)
        found = refusal(main, capsys, *arguments(integer_file, f"--labels={labels}"))
        assert message in found
    found = refusal(main, capsys, *arguments(integer_file, "--labels=none.txt"))
    assert "none.txt cannot be read" in found


def test_inputs_that_do_not_fit(integer_file, capsys):
    path = integer_file.parent / "wrong.npz"
    np.savez(path, image=np.zeros((2, 31), "int8"))
    found = refusal(main, capsys, f"--model={integer_file}", f"--input={path}")
    assert "image must be of shape (1, 32)" in found
    found = refusal(main, capsys, f"--model={integer_file}", "--input=nowhere")
    assert "nowhere is not there" in found


def test_ranks_of_equal_scores():
    ranks = Ranks([2, 0, 5])
    scores = np.array([[3, 3, 3, 1, 1, 1]], "int8")
    for number in range(3):
        ranks.add(number, [scores], [scores[:, ::-1]])
    assert (ranks.right[1], ranks.right[5]) == (1, 2)
    assert (ranks.found[1], ranks.found[5]) == (0, 2)


def test_what_to_choose_layers_by(integer_file, capsys):
    folder = integer_file.parent
    path = folder / "out.json"
    more = ("--cycles", f"--labels={folder / 'labels.txt'}", f"--json={path}", "--host=second")
    assert main(arguments(integer_file, *more, "--logs=none")) == 0
    printed = capsys.readouterr().out
    assert "small: each layer's results exact, or the device's own, 100 inputs" in printed
    report = json.loads(path.read_text())
    first, second = report["layers"]
    assert (first["name"], first["chosen"], first["in_fast"]) == ("first", "exact", True)
    # Exactly the host requantizes; the device does it all, a few elements otherwise.
    assert first["exact"]["where"] == "host" and first["exact"]["host_instructions"] > 0
    assert first["device"]["host_instructions"] == 0 < first["device"]["cycles"]
    assert first["device"]["alone"]["most"] == 1 and first["device"]["alone"]["differ"] > 0
    # Its own rule is the device's: there is no other way to compute it there.
    assert (second["name"], second["chosen"], second["device"]) == ("second", "host", None)
    networks = report["networks"]
    assert list(networks) == ["exact", "fast", "as chosen"]
    for name in ("exact", "fast"):
        ways = [layer["device"] or layer["exact"] for layer in (first, second)]
        if name == "exact":
            ways = [layer["exact"] for layer in (first, second)]
        assert networks[name]["cycles"] == sum(way["cycles"] for way in ways)
    assert networks["as chosen"]["cycles"] < networks["exact"]["cycles"]
    assert networks["as chosen"]["host_instructions"] > networks["exact"]["host_instructions"]
    assert [networks[name]["outputs"]["differ"] > 0 for name in networks] == [False, True, False]
    assert networks["exact"]["top1"] == networks["as chosen"]["top1"] == 1
    # As the other report has it.
    assert main(arguments(integer_file, "--numerics=fast", f"--json={path}")) == 0
    fast = json.loads(path.read_text())
    assert fast["outputs"] == [networks["fast"]["outputs"]]
    assert fast["layers"][0]["alone"] == first["device"]["alone"]


@pytest.mark.usefixtures("tiny_model")
def test_of_a_network_in_float_there_is_nothing_to_choose(tmp_path, capsys):
    np.save(tmp_path / "image.npy", np.zeros((1, 32, 32, 3), "float32"))
    line = ("--model=tiny", f"--input={tmp_path / 'image.npy'}", "--cycles")
    assert "is in float, its numbers are the device's" in refusal(main, capsys, *line)


@pytest.mark.long
def test_cycles_say_what_scales_of_narrow_blocks_would_cost(tmp_path, monkeypatch, capsys):
    config, report = preset("gemmini-16x16"), tmp_path / "out.json"

    def cycles(scale):
        operator = Conv2d(1, 28, 28, 32, 64, 1, 1, bias=True, scale=scale).kernel()
        func = default_schedule(operator, config).mod["main"]
        return cycles_of(build_program(func, config, operator.name))

    one, narrow = cycles(0.5), cycles(pattern(64, 16))
    excess = narrow / one - 1
    assert excess > 0.1 and cycles(pattern(64, 32)) / one - 1 > 0.1
    path = write_integer_file(tmp_path, monkeypatch, wide_stores, (1, 28, 28, 32))
    assert main(arguments(path, "--cycles", "--logs=none", f"--json={report}")) == 0
    says = f"wide: a scale for each 16 channels takes {excess:.0%} more cycles"
    assert says in capsys.readouterr().out.splitlines()
    (layer,) = json.loads(report.read_text())["layers"]
    # So it has one for all.
    assert layer["device"]["numbers"] == "scales in the weights"
    assert layer["device"]["cycles"] == one
    assert says.partition(": ")[2] in layer["device"]["why"]


def test_cycles_say_nothing_of_scales_that_cost_little(tmp_path, monkeypatch, capsys):
    path = write_integer_file(tmp_path, monkeypatch, scaled_blocks)
    assert main(arguments(path, "--cycles", "--logs=none")) == 0
    printed = capsys.readouterr().out
    assert "first" in printed and "a scale for each" not in printed
