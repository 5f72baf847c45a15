"""`python -m npu_target.accuracy`: its table, its JSON, and what it refuses."""

import json

import numpy as np
import pytest
from command_lines import refusal

from npu_target.accuracy import Ranks, main


def arguments(path, *more):
    folder = path.parent
    return [f"--model={path}", f"--inputs={folder / 'inputs.npz'}", *map(str, more)]


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
    assert "first: both host and device are asked for" in found


@pytest.mark.usefixtures("tiny_model")
def test_of_a_network_in_float(tmp_path, capsys):
    image = np.random.default_rng(0).normal(size=(4, 32, 32, 3)).astype("float32")
    np.save(tmp_path / "images.npy", image)
    path = tmp_path / "out.json"
    assert main(["--model=tiny", f"--inputs={tmp_path / 'images.npy'}", f"--json={path}"]) == 0
    assert "against the float network, 4 inputs" in capsys.readouterr().out
    report = json.loads(path.read_text())
    noise = {layer["name"]: layer["accumulated"]["snr_db"] for layer in report["layers"]}
    assert len(noise) > 5
    # All are near, and none is nearer than 8 bits of these values can be.
    assert all(15 < snr_db < 60 for snr_db in noise.values()), noise
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
    found = refusal(main, capsys, f"--model={integer_file}", f"--inputs={path}")
    assert "image must be of shape (1, 32)" in found
    found = refusal(main, capsys, f"--model={integer_file}", "--inputs=nowhere")
    assert "nowhere is not there" in found


def test_ranks_of_equal_scores():
    ranks = Ranks([2, 0, 5])
    scores = np.array([[3, 3, 3, 1, 1, 1]], "int8")
    for number in range(3):
        ranks.add(number, [scores], [scores[:, ::-1]])
    assert (ranks.right[1], ranks.right[5]) == (1, 2)
    assert (ranks.found[1], ranks.found[5]) == (0, 2)
