"""What is written behind a built library, and what becomes of it when it is damaged."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from command_lines import build, refusal, run
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from npu_target.built_file import Built, BuiltFileError, read_built, seal
from npu_target.frontend import TensorInfo
from npu_target.integer.quantization import Quantization

BUILT = Built(
    "tiny",
    "gemmini-16x16",
    (
        TensorInfo("x", (1, 2, 3), "int8", Quantization((0.5, 0.25), (3,), 2)),
        TensorInfo("mask", (4,), "float32"),
    ),
)


def sealed(path: Path) -> bytes:
    path.write_bytes(bytes(range(256)) * 4)
    seal(path, BUILT)
    return path.read_bytes()


def test_what_is_written_is_read(tmp_path):
    data = sealed(tmp_path / "x.so")
    assert data.startswith(bytes(range(256)))
    assert read_built(tmp_path / "x.so") == BUILT


@given(data=st.data())
def test_every_damage_is_noticed(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.so"
        whole = sealed(path)
        if data.draw(st.booleans(), "cut off"):
            damaged = whole[: data.draw(st.integers(0, len(whole) - 1), "bytes left")]
        else:
            place = data.draw(st.integers(0, len(whole) - 1), "place")
            flipped = whole[place] ^ (1 << data.draw(st.integers(0, 7), "bit"))
            damaged = whole[:place] + bytes([flipped]) + whole[place + 1 :]
        path.write_bytes(damaged)
        with pytest.raises(BuiltFileError, match=r"npu-target build (--model MODEL -o|writes, or)"):
            read_built(path)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(BuiltFileError, match="is no file; give one that npu-target build wrote"):
        read_built(tmp_path)


def test_another_version_is_refused(tmp_path, monkeypatch):
    import npu_target

    with monkeypatch.context() as patch:
        patch.setattr(npu_target, "__version__", "0.0.1")
        sealed(tmp_path / "x.so")
    with pytest.raises(BuiltFileError, match=r"was built by npu_target 0\.0\.1, this is "):
        read_built(tmp_path / "x.so")


@pytest.fixture(scope="module")
def network(tiny_model, tmp_path_factory) -> Path:
    """A built network, and an image beside it."""
    folder = tmp_path_factory.mktemp("built")
    Image.new("RGB", (32, 32)).save(folder / "image.png")
    assert build(["--model=tiny", "--logs=none", "-o", str(folder / "x.so")]) == 0
    return folder / "x.so"


def test_a_network_that_is_damaged_is_not_loaded(network, tmp_path, capsys):
    image = f"--input={network.parent / 'image.png'}"
    data = network.read_bytes()
    damaged = tmp_path / "damaged.so"
    damaged.write_bytes(data[: len(data) // 2])
    assert "is cut off" in refusal(run, capsys, str(damaged), image)
    middle = len(data) // 2
    damaged.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
    assert "its checksum is another" in refusal(run, capsys, str(damaged), image)
    subprocess.run(["strip", str(network), "-o", str(damaged)], check=True)
    assert "is not what npu-target build writes" in refusal(run, capsys, str(damaged), image)


def test_a_network_of_another_model_is_refused(network, capsys):
    image = f"--input={network.parent / 'image.png'}"
    error = refusal(run, capsys, str(network), image, "--model=resnet18")
    assert "was built from tiny for gemmini-16x16, not from resnet18" in error
    assert run([str(network), image, "--model=tiny"]) == 0
    capsys.readouterr()
    assert run([str(network), image]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
