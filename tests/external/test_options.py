"""The options of a command line that make a device of a command."""

from __future__ import annotations

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.device import preset
from npu_target.external.asked import external_device
from npu_target.external.errors import ExternalError
from npu_target.external.options import (
    add_external_options,
    add_runner_name,
    to_arguments,
)
from npu_target.external.toolchain import EMULATED

CONFIG = preset("gemmini-16x16")


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_external_options(parser)
    add_runner_name(parser)
    return parser.parse_args(arguments)


TEXT = st.text(st.characters(codec="ascii", exclude_categories=("C",)), min_size=1)


@given(
    TEXT,
    st.fixed_dictionaries(
        {},
        optional={
            "--runner": TEXT,
            "--elf-for": st.sampled_from(["linux", "baremetal", "emulated"]),
            "--elf-cc": TEXT,
            "--elf-flags": TEXT,
        },
    ),
)
def test_a_child_gets_the_same_options(command, more):
    options = parsed(
        [f"--run-with={command}", *(f"{name}={value}" for name, value in more.items())]
    )
    assert parsed(to_arguments(options)) == options


def test_without_a_command_there_is_the_simulator():
    options = parsed([])
    assert to_arguments(options) == [] and external_device(options, CONFIG) is None


def test_the_device_of_options():
    options = parsed(
        ["--run-with=true {elf} {input}", "--elf-cc=true", "--elf-flags=-O1 '-DA=b c'"]
    )
    device = external_device(options, CONFIG)
    assert device is not None and device.name == "true"
    assert device.builder.toolchain.flags == ("-O1", "-DA=b c")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--runner=x"], "say how to use --run-with"),
        (["--run-with=true {elf} {inputs}"], "has {inputs}; there are"),
        (["--run-with=true {elf} {input}", "--elf-cc=no-gcc"], "no-gcc is not installed"),
        (
            [
                "--run-with=true {elf} {input}",
                "--elf-cc=true",
                f"--elf-for={EMULATED}",
                "--runner=/",
            ],
            "the runner's name is '/'",
        ),
        (["--run-with=true {elf} {input}", "--elf-flags='"], "--elf-flags cannot be read"),
        (["--run-with=true {elf}", "--elf-cc=true"], "has no {input}"),
    ],
)
def test_what_cannot_be(arguments, says):
    with pytest.raises(ExternalError) as caught:
        external_device(parsed(arguments), CONFIG)
    assert says in str(caught.value)
