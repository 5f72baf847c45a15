"""The commands' jobs from Python."""

from __future__ import annotations

import ast
import importlib.resources
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from command_lines import tune as tune_command
from tvm import relax

import npu_target.api as npu
from npu_target.build import compile_network
from npu_target.built_file import BuiltFileError
from npu_target.device import ConfigError, preset
from npu_target.devices.gemmini import cost as gemmini_cost
from npu_target.errors import UserError
from npu_target.files import WriteError
from npu_target.host import run_host
from npu_target.inputs import InputsError
from npu_target.models.parameters import seeded_parameters
from npu_target.models.resnet import build_resnet, parameter_shapes
from npu_target.topi import OperatorError
from npu_target.tuning.errors import LogError, TuningError

pytestmark = pytest.mark.usefixtures("tiny_model")


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(1, 32, 32, 3)).astype("float32")


@pytest.fixture(scope="module")
def network(tiny_model):
    return npu.load("tiny")


@pytest.fixture(scope="module")
def logs(network, tmp_path_factory):
    """Of 30 trials."""
    logs = tmp_path_factory.mktemp("logs")
    network.tune(30, logs=logs, servers=1, quiet=True)
    return logs


@pytest.fixture(scope="module")
def built(network, logs):
    return network.build(logs=logs)


@pytest.mark.long
def test_tuning_gives_what_the_command_gives(network, logs, tmp_path, capsys):
    layers = network.layers(logs=logs)
    assert layers.cycles <= layers.default_cycles
    for layer in layers:
        assert (layer.source == "tuned") == (layer.cycles < layer.default_cycles)
    again = network.tune(30, logs=logs, resume=True, servers=1, quiet=True)
    assert [r.cycles for r in again] == [r.cycles for r in layers], "nothing more was measured"
    assert not any(result.is_new for result in again)
    assert tune_command([*f"--model=tiny --logs={logs} --trials=30 --resume".split()]) == 0
    assert f"{layers.cycles:,}" in capsys.readouterr().out


@pytest.mark.long
def test_the_whole_networks_time_is_that_of_a_build(network, logs, built):
    """Of the same schedules, whoever asks: layers, tuning, a build."""
    tuned = network.tune(30, logs=logs, resume=True, servers=1, quiet=True)
    assert built.time is not None and built.layers.time == built.time
    assert tuned.time == network.layers(logs=logs).time == built.time
    for layers in (tuned, built.layers):
        runs = [cycles for layer in layers for cycles in layer.in_sequence]
        assert sum(runs) == built.time.device_cycles
        assert all(len(layer.in_sequence) == layer.layer.count for layer in layers)
    assert layers.to_json()["in_sequence"] == built.time.to_json()
    assert f"{built.time.host_cycles:,}" in str(layers) and "in sequence" in str(layers)
    assert max(map(len, str(layers).splitlines())) <= 132


@pytest.mark.long
def test_a_quiet_one_prints_nothing(network, logs, capsys):
    network.tune(31, logs=logs, resume=True, servers=1, quiet=True)
    assert capsys.readouterr().out == ""


def test_layers_are_a_sequence_and_a_table(network):
    layers = network.layers(logs="none")
    assert len(layers) == len(network.parts) and layers[:2].names == layers.names[:2]
    assert layers.cycles == layers.default_cycles == layers.to_json()["total_cycles"]
    assert layers.milliseconds == layers.cycles / network.config.clock_khz
    conv = layers.named("conv2d_8x8x8_8_k3_s1_p1")
    assert conv.layer.count == 2
    with pytest.raises(UserError, match="no layer is called 'conv'; there are: conv2d_32x32x3_8"):
        layers.named("conv")
    for text in (str(layers), layers._repr_html_()):
        assert all(name in text for name in layers.names) and f"{layers.cycles:,}" in text
    assert f"{layers.cycles:,} cycles" in repr(layers)


@pytest.mark.long
def test_a_build_runs_and_is_saved(network, built, image, tmp_path):
    (scores,) = built.run(image)
    default = compile_network(network.network.with_kernels(npu_default(network)).mod)
    np.testing.assert_array_equal(scores, run_host(default, image)[0])
    assert built.time.device_cycles < built.layers.cycles, "the L2 holds what was just written"
    built.save(tmp_path / "tiny.so")
    loaded = npu.load_built(tmp_path / "tiny.so")
    assert (loaded.model, loaded.device) == ("tiny", "gemmini-16x16")
    np.testing.assert_array_equal(loaded.run(image)[0], scores)
    np.save(tmp_path / "image.npy", image)
    np.testing.assert_array_equal(loaded.run(tmp_path / "image.npy")[0], scores)
    np.save(tmp_path / "two.npy", np.concatenate([image, image]))
    with pytest.raises(InputsError, match="2 samples, one is needed"):
        loaded.run(tmp_path / "two.npy")


def npu_default(network):
    return network._chooser("none", False, False, "beside", npu_pipeline(), "").device_function


def npu_pipeline():
    return inspect.signature(npu.LoadedModel.build).parameters["pipeline"].default


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ([], "0 inputs are given; tiny takes: image"),
        ([np.zeros((1, 32, 32, 3))], "must be float32 of shape (1, 32, 32, 3), is float64"),
        ([np.zeros((32, 32, 3), "float32")], "is float32 of shape (32, 32, 3)"),
    ],
)
def test_inputs_that_do_not_fit(built, inputs, says):
    with pytest.raises(InputsError, match=re.escape(says)):
        built.run(*inputs)


def test_where_operations_run(network):
    assert {decision.where for decision in network.operations} == {"device", "host"}
    assert [info.name for info in network.inputs] == ["image"]


@pytest.mark.long
def test_a_module_of_ones_own(image):
    import tiny_network

    config = tiny_network.TINY
    shapes = parameter_shapes(config)
    mod = build_resnet(config, seeded_parameters(shapes, 0, config))
    mine = npu.load(mod, preset("gemmini-32x32"), name="mine")
    assert (mine.name, mine.config.name) == ("mine", "gemmini-32x32")
    assert mine.build(logs="none").run(image)[0].shape == (1, 10)
    with pytest.raises(TuningError, match="weights and its shapes inside"):
        npu.load(mod, weights="x.npz")
    with pytest.raises(TuningError, match=r"name is '\.\./x'"):
        npu.load(mod, name="../x")
    assert isinstance(mine.network.model.mod["main"], relax.Function)


def test_what_cannot_be_done(network, built, tmp_path):
    with pytest.raises(TuningError, match="unknown model 'alexnet'"):
        npu.load("alexnet")
    with pytest.raises(ConfigError, match="no device is called 'abacus'"):
        npu.load("tiny", "abacus")
    with pytest.raises(TuningError, match="needs a folder"):
        network.tune(logs="none")
    with pytest.raises(LogError, match="no tuning logs of tiny"):
        network.build(require_tuned=True)
    with pytest.raises(LogError, match="does not exist"):
        network.layers(logs=tmp_path / "nowhere")
    with pytest.raises(BuiltFileError, match="is not there"):
        npu.load_built(tmp_path / "nowhere.so")
    with pytest.raises(WriteError, match=r"the folder .* does not exist"):
        built.save(tmp_path / "no" / "x.so")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"trials": 0}, "trials must be at least 1, got 0"),
        ({"trials": "5"}, "trials must be a whole number, got '5'"),
        ({"trials": True}, "trials must be a whole number, got True"),
        ({"space": "all"}, "space must be one of template, rules, both, got 'all'"),
        ({"search": "best"}, "search must be one of points, evolutionary, got 'best'"),
        ({"routes": "all"}, "routes must be one of beside, none, only, got 'all'"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"seed": 1 << 31}, "seed must be less than 2"),
        ({"servers": 0}, "servers must be at least 1, got 0"),
        ({"timeout_seconds": 0}, "timeout_seconds must be more than 0, got 0"),
        ({"timeout_seconds": float("nan")}, "timeout_seconds must be more than 0, got nan"),
        ({"timeout_seconds": "1"}, "timeout_seconds must be a number of seconds, got '1'"),
        ({"pipeline": 1}, "pipeline must be a name or PipelineOptions, got 1"),
    ],
)
def test_arguments_of_tune_that_are_none(arguments, says, tmp_path):
    one = npu.operator("matmul(m=4, k=4, n=4)")
    with pytest.raises(npu.ArgumentError, match=re.escape(says)):
        one.tune(**arguments, logs=tmp_path / "logs", quiet=True)
    assert not list(tmp_path.iterdir())


def test_arguments_that_are_none(tmp_path):
    one = npu.operator("matmul(m=4, k=4, n=4)", "gemmini-8x8")
    with pytest.raises(npu.ArgumentError, match="routes must be one of"):
        one.layers(routes="all")
    with pytest.raises(UserError, match="begins with none of the names O0, O1, O2"):
        one.layers(pipeline="O7", logs="none")
    for made in (npu.load, lambda model, device: npu.operator("matmul(m=4, k=4, n=4)", device)):
        with pytest.raises(npu.ArgumentError, match="device must be a name, a file or a Dev"):
            made("tiny", 8)
    with pytest.raises(npu.ArgumentError, match="text must be a string, got 5"):
        npu.operator(5)
    with pytest.raises(npu.ArgumentError, match="seed must be a whole number"):
        npu.load("tiny", seed=0.5)
    with pytest.raises(npu.ArgumentError, match="numerics must be a mode or NumericsOptions"):
        npu.load("tiny", numerics=1)
    with pytest.raises(UserError, match="no mode is called 'near'; there are: exact, fast"):
        npu.load("tiny", numerics="near")


def test_arguments_are_written_as_options_are(tmp_path):
    file = tmp_path / "mine.json"
    preset("gemmini-8x8").save(file)
    one = npu.operator("matmul(m=40, k=40, n=40)", file)
    assert one.config == preset("gemmini-8x8")
    plain, best = (one.layers(logs="none", pipeline=name).cycles for name in ("O0", "O2"))
    assert plain > best
    with pytest.raises(InputsError, match=r"nowhere\.npz"):  # not a path for each letter
        npu.load("tiny", calibrate="nowhere.npz")


def test_the_package_is_typed():
    for package in ("npu_target", "rpc_server"):
        assert (importlib.resources.files(package) / "py.typed").is_file()


@pytest.mark.long
def test_an_operator_alone(tmp_path, monkeypatch):
    one = npu.operator("conv2d(h=8, w=8, ci=16, co=16, k=3, pad=1)")
    assert one.name == one.operator.name == "conv2d_8x8x16_16_k3_s1_p1"
    layers = one.tune(8, logs=tmp_path, servers=1, quiet=True)
    assert len(layers) == 1 and layers[0].trials == 8
    assert one.layers(logs=tmp_path).cycles == layers.cycles
    # Few trials are to gain, so the default that they start from is any.
    monkeypatch.setattr(gemmini_cost.GemminiCost, "looks", 1)
    monkeypatch.setattr(gemmini_cost, "tile_cycles", lambda *_: np.array(1.0))
    gaining = npu.operator("matmul(m=100, k=200, n=72)")
    (found,) = gaining.tune(24, logs=tmp_path, servers=1, quiet=True)
    assert found.cycles < found.default_cycles and (found.source, found.is_new) == ("tuned", True)
    with pytest.raises(OperatorError, match="unknown operator 'conv3d'"):
        npu.operator("conv3d(h=1)")
    with pytest.raises(ConfigError, match="abacus"):
        npu.operator("matmul(m=1, k=1, n=1)", "abacus")


def members() -> Iterator[tuple[str, Callable]]:
    """The functions, methods and properties that are public."""
    for name in npu.__all__:
        thing = getattr(npu, name)
        if not inspect.isclass(thing):
            yield name, thing
            continue
        for attribute, value in vars(thing).items():
            function = getattr(value, "fget", value)
            if not attribute.startswith("_") and inspect.isfunction(function):
                yield f"{name}.{attribute}", function


@pytest.mark.parametrize(("name", "function"), list(members()))
def test_help_says_what_it_takes_and_gives(name, function):
    said, signature = inspect.getdoc(function), inspect.signature(function)
    assert said and signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters:
        assert parameter in ("self", "path") or parameter in said or "those of `layers`" in said


def test_its_example_is_python():
    lines = [line[4:] for line in npu.__doc__.splitlines() if line.startswith(">>> ")]
    tree = ast.parse("\n".join(lines))
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    known = {*npu.__all__, *dir(npu.LoadedModel), *dir(npu.BuiltNetwork)}
    assert called <= known


def test_importing_it_first_is_enough():
    subprocess.run([sys.executable, "-c", "import npu_target.api"], check=True)
