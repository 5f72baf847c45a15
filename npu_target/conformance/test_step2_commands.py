"""Step 2: commands become words and back, and what a device lacks is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npu_target.conformance.examples import least
from npu_target.device import DeviceConfig, DeviceKind
from npu_target.device.commands import DeviceCommand, FieldSpec, IsaError

_WORD = st.integers(0, 2**64 - 1)


def _values(spec: FieldSpec) -> st.SearchStrategy[Any]:
    if spec.parted is not None:
        return st.integers(0, 2**spec.width - 1).map(spec.parted.decode)
    if spec.kind == "scale":
        return st.floats(width=32, allow_nan=False, allow_infinity=False)
    if spec.kind == "flag":
        return st.booleans()
    if spec.kind == "sint":
        return st.integers(-(2 ** (spec.width - 1)), 2 ** (spec.width - 1) - 1)
    return st.integers(0, 2**spec.width - 1)


def test_there_are_commands(kind: DeviceKind) -> None:
    assert kind.commands.classes, "commands_at has a CommandSet of no classes"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_words_give_the_command_back(
    command: type[DeviceCommand], kind: DeviceKind, data: st.DataObject
) -> None:
    made = command(
        **{name: data.draw(_values(spec), name) for name, spec in command.specs().items()}
    )
    words = made.encode()
    assert kind.commands.find(*words[:2]) is command
    assert kind.commands.decode(*words) == made
    assert kind.commands.disassemble([words]) == str(made)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_words_are_a_command_or_refused(kind: DeviceKind, data: st.DataObject) -> None:
    functs = sorted({cls.funct for cls in kind.commands.classes})
    words = data.draw(st.tuples(st.sampled_from(functs), _WORD, _WORD))
    try:
        command = kind.commands.decode(*words)
    except IsaError:
        assert "raw" in kind.commands.disassemble([words])
    else:
        assert command.encode() == words


def test_fields_do_not_overlap(command: type[DeviceCommand]) -> None:
    used = [0, command.tag_mask, 0]
    for spec in command.specs().values():
        assert not used[spec.register] & spec.mask, f"{command.mnemonic}: {spec.name}"
        used[spec.register] |= spec.mask


def test_limits_refuse_by_name(command: type[DeviceCommand], config: DeviceConfig) -> None:
    """Each field that the device limits is refused above its limit."""
    for name, spec in command.specs().items():
        if spec.at_most is not None and spec.at_most(config) < 2**spec.width - 1:
            made = least(command, **{name: spec.at_most(config) + 1})
            with pytest.raises(IsaError, match=name):
                made.validate(config)
