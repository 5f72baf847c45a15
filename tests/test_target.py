"""Targets and their devices, and what `import tvm` registers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvm.target import Target

from npu_target import _register
from npu_target.device import ConfigError
from npu_target.device_api import _library
from npu_target.devices.gemmini import PRESETS, GemminiConfig
from npu_target.tags import register_tags
from npu_target.target import config_of, make_target


@pytest.mark.parametrize("config", PRESETS, ids=lambda config: config.name)
def test_every_preset_has_a_tag(config: GemminiConfig) -> None:
    tag = f"npu/{config.name}"
    target = Target(tag)
    assert (target.kind.name, str(target.tag)) == ("ext_dev", tag)
    assert config_of(target) is config
    assert config_of(tag) is config
    assert make_target(config).export() == target.export()


@given(
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", fullmatch=True),
    st.sampled_from([4, 8, 16, 32]),
    st.booleans(),
    st.integers(1, 100),
)
def test_other_devices_survive_the_way_to_another_process(
    name: str, dim: int, has_pooling: bool, latency: int
) -> None:
    config = GemminiConfig(
        name=name, dim=dim, has_pooling=has_pooling, acc_scale_latency_cycles=latency
    )
    target = make_target(config, host="llvm")
    assert config_of(target) == config
    assert config_of(Target(json.loads(str(target)))) == config
    assert target.host.kind.name == "llvm"


def test_a_renamed_preset_is_not_the_preset() -> None:
    config = GemminiConfig(name="mine")
    assert config_of(make_target(config)).name == "mine"
    imposter = GemminiConfig(name="gemmini-16x16", dim=8)
    assert config_of(make_target(imposter)) == imposter


@pytest.mark.parametrize(
    "target",
    [
        {"kind": "ext_dev", "model": "gemmini-8x8"},
        {"kind": "ext_dev", "device": "gemmini-8x8"},
        {"kind": "ext_dev", "tag": "npu/gemmini-8x8"},
        {"kind": "ext_dev", "device": "npu", "tag": "npu/gemmini-8x8"},
    ],
)
def test_ways_to_name_a_device(target: dict[str, Any]) -> None:
    assert config_of(target).name == "gemmini-8x8"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("llvm", "needs kind 'ext_dev', is 'llvm'"),
        ("ext_dev", "names no device; use one of the tags npu/gemmini-16x16, "),
        ({"kind": "ext_dev", "device": "npu"}, "names no device"),
        ({"kind": "ext_dev", "tag": "npu/none"}, "names no device"),
        ({"kind": "ext_dev", "device": "vta"}, "device is 'vta', needs 'npu'"),
        ({"kind": "ext_dev", "model": "none"}, "model 'none': no preset is called so; there are"),
        (
            {"kind": "ext_dev", "model": "gemmini:a#0 dims=8"},
            "'dims=8' is no field of a device of kind gemmini",
        ),
        (
            {"kind": "ext_dev", "model": "gemmini:a#0 dim=x"},
            "'dim=x' is no field of a device of kind gemmini",
        ),
        ({"kind": "ext_dev", "model": "gemmini:a#0 dim=12"}, "dim is 12, must be a power of two"),
        (
            {"kind": "ext_dev", "model": "gemmini:a#0 dim=8"},
            "made by a version of npu_target with another",
        ),
    ],
)
def test_targets_without_a_device(target: str | dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config_of(target)


def test_tags_are_registered_once() -> None:
    register_tags()  # TVM raises for a tag that is there


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "first",
    [
        "import tvm",
        "import npu_target",
        "import npu_target.target",
        "from npu_target import topi",
        "from npu_target import device_api",
        "import npu_target._register",
        "import npu_target.program",
    ],
)
def test_any_import_order(first: str) -> None:
    """Warnings are errors: TVM only warns of an entry point that fails."""
    done = python(
        f"{first}\n"
        "import tvm\n"
        "assert tvm.target.Target('npu/gemmini-16x16').kind.name == 'ext_dev'\n"
        "assert tvm.ext_dev(0).exist\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_package_is_light() -> None:
    done = python(
        "import sys, npu_target, npu_target.device, npu_target.program, npu_target._register\n"
        "npu_target.device.presets()\n"
        "assert not {'tvm', 'tvm_ffi', 'numpy'} & set(sys.modules)"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_tags_without_the_entry_point() -> None:
    done = python(
        "from npu_target.target import config_of\nprint(config_of('npu/gemmini-8x8').dim)",
        TVM_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "8\n", "")


def test_without_the_library_it_says_how_to_build_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_library, "_library", None)
    monkeypatch.setattr(_library, "_LIBRARY_NAME", "libnot_there.so")
    with pytest.raises(ImportError, match=r"libnot_there.so is not in .*pip install"):
        _register.register()
