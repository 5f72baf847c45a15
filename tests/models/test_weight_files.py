"""Weight files of every kind: the same arrays out of each, and one clear error for a wrong one."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_target.models import ModelError
from npu_target.models.weight_files import read_weights

ARRAYS = {
    "conv.weight": np.arange(6, dtype="float32").reshape(2, 3, 1, 1),
    "fc.bias": np.linspace(-1, 1, 4, dtype="float32"),
    "half": np.array([0.5, 3.0], "float16"),
    "batches": np.array(7, "int64"),
}


def save_npz(file):
    np.savez(file, **ARRAYS)


def save_safetensors(file):
    pytest.importorskip("safetensors.numpy").save_file(ARRAYS, file)


def save_torch(file):
    torch = pytest.importorskip("torch")
    torch.save({name: torch.from_numpy(np.array(array)) for name, array in ARRAYS.items()}, file)


def save_checkpoint(file):
    torch = pytest.importorskip("torch")
    state = {name: torch.from_numpy(np.array(array)) for name, array in ARRAYS.items()}
    torch.save({"epoch": 3, "state_dict": state}, file)


KINDS = {
    "npz": ("w.npz", save_npz),
    "safetensors": ("w.safetensors", save_safetensors),
    "torch": ("w.pt", save_torch),
    "checkpoint": ("w.pth", save_checkpoint),
}


@pytest.fixture(params=KINDS)
def file(request, tmp_path):
    if request.param == "safetensors":
        pytest.importorskip("safetensors.numpy")
    name, save = KINDS[request.param]
    save(tmp_path / name)
    return tmp_path / name


def test_gives_what_was_saved(file):
    found = read_weights(file)
    assert set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)


def test_bfloat16_becomes_float32(tmp_path):
    torch, st_torch = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    tensor = torch.tensor([[0.15625, -3.0], [1e30, 0.0]], dtype=torch.bfloat16)
    st_torch.save_file({"w": tensor}, tmp_path / "w.safetensors")
    torch.save({"w": tensor}, tmp_path / "w.pt")
    for name in ("w.safetensors", "w.pt"):
        (array,) = read_weights(tmp_path / name).values()
        assert array.dtype == "float32"
        np.testing.assert_array_equal(array, tensor.float().numpy())


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("kind", KINDS)
def test_damage_ends_in_an_error_or_in_arrays(kind, data, tmp_path_factory):
    if kind == "safetensors":
        pytest.importorskip("safetensors.numpy")
    name, save = KINDS[kind]
    path = tmp_path_factory.getbasetemp() / name
    save(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        found = read_weights(path)
    except ModelError as error:
        assert str(error).startswith(str(path))
    else:
        assert all(isinstance(array, np.ndarray) for array in found.values())


class Evil:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_what_is_pickled_is_not_run(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"w": torch.zeros(1), "evil": Evil(tmp_path / "trace")}, tmp_path / "w.pt")
    with pytest.raises(ModelError, match="holds more than tensors"):
        read_weights(tmp_path / "w.pt")
    assert not (tmp_path / "trace").exists()


def test_says_what_is_no_state_dict(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save([torch.zeros(1)], tmp_path / "w.pt")
    with pytest.raises(ModelError, match="is no state dict, but list"):
        read_weights(tmp_path / "w.pt")


def test_says_which_files_there_are(tmp_path):
    with pytest.raises(ModelError, match="no such weight file"):
        read_weights(tmp_path / "nowhere.npz")
    with pytest.raises(ModelError, match="is a folder; a file is needed"):
        read_weights(tmp_path)
    (tmp_path / "w.bin").write_bytes(b"")
    with pytest.raises(ModelError, match=r"ends in \.npz, \.safetensors, \.pt or \.pth"):
        read_weights(tmp_path / "w.bin")
    with open(tmp_path / "one.npz", "wb") as one:
        np.save(one, np.zeros(3))
    with pytest.raises(ModelError, match=r"one\.npz is no \.npz archive"):
        read_weights(tmp_path / "one.npz")


@pytest.mark.parametrize(("suffix", "package"), [("pt", "torch"), ("safetensors", "safetensors")])
def test_says_which_package_is_missing(tmp_path, monkeypatch, suffix, package):
    monkeypatch.setattr(sys.modules[read_weights.__module__], "find_spec", lambda name: None)
    (tmp_path / f"w.{suffix}").write_bytes(b"")
    with pytest.raises(ModelError, match=rf"pip install 'npu_target\[{package}\]'"):
        read_weights(tmp_path / f"w.{suffix}")


def test_errors_of_our_own_stay_what_they_are(tmp_path, monkeypatch):
    def broken(*arguments):
        raise TypeError("ours")

    save_torch(tmp_path / "w.pt")
    monkeypatch.setattr("npu_target.models.weight_files._from_torch", broken)
    with pytest.raises(TypeError, match="ours"):
        read_weights(tmp_path / "w.pt")
