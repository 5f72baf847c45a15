"""Settings that a phase needs, and those that the device holds already."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from npu_target.device import preset
from npu_target.device.commands import DeviceCommand
from npu_target.devices.gemmini import isa
from npu_target.devices.gemmini.isa import ConfigEx, ConfigLd, ConfigSt
from npu_target.devices.gemmini.settings import DeviceSettings
from npu_target.program import Command

CONFIG = preset("gemmini-8x8")
ZEROS = "zeros"


class OneBlock(NamedTuple):
    """A load of one block of columns, to which a setting's block stride does not matter."""

    setting: ConfigLd


LOADS = st.builds(
    lambda n, blocks: ConfigLd(stride_bytes=16 * n, block_stride=8 * blocks),
    st.integers(1, 4),
    st.integers(1, 2),
)
NEEDS = st.one_of(
    LOADS,
    LOADS.map(OneBlock),
    st.integers(1, 2).map(lambda n: ConfigSt(stride_bytes=16 * n)),
    st.integers(1, 2).map(lambda n: ConfigEx(weight_stationary=True, a_stride=n)),
    st.just(ZEROS),
)
Need = DeviceCommand | OneBlock | str


class Device:
    """What commands that set find and leave, and whether a copy or a step finds what it needs."""

    def __init__(self) -> None:
        self.held: dict[Any, DeviceCommand] = {}

    def run(self, commands: tuple[Any, ...]) -> None:
        for node in commands:
            assert isinstance(node, Command)
            setting = isa.COMMANDS.decode(node.funct, node.rs1.base, node.rs2.base)
            key = setting.id if isinstance(setting, ConfigLd) else type(setting)
            self.held[key] = setting

    def check(self, need: Need, id: int) -> None:
        if need == ZEROS:
            assert id in self.held
        elif isinstance(need, (ConfigLd, OneBlock)):
            held = self.held[id]
            assert isinstance(held, ConfigLd)
            if isinstance(need, OneBlock):
                assert held.stride_bytes == need.setting.stride_bytes
            else:
                strides = held.stride_bytes, held.block_stride
                assert strides == (need.stride_bytes, need.block_stride)
        else:
            assert self.held[type(need)] == need


def demands(settings: DeviceSettings, needs: list[Need]) -> list[tuple[Need, int, tuple]]:
    """The setting that each need gets, and the commands right before it."""
    found = []
    for need in needs:
        if isinstance(need, ConfigLd):
            id, commands = settings.load(need)
        elif isinstance(need, OneBlock):
            id, commands = settings.load(need.setting, any_block_stride=True)
        elif isinstance(need, (ConfigSt, ConfigEx)):
            id, commands = 0, settings.other(need)
        else:
            id, commands = settings.any_load()
        found.append((need, id, commands))
    return found


def distinct(needs: list[Need], kind: type) -> int:
    return len({need for need in needs if isinstance(need, kind)})


def loads(needs: list[Need]) -> int:
    """Settings for loads: one of several blocks serves those of one that are else alike, too."""
    several = {need for need in needs if isinstance(need, ConfigLd)}
    one = {need.setting.stride_bytes for need in needs if isinstance(need, OneBlock)}
    return len(several) + len(one - {need.stride_bytes for need in several})


def fit(needs: list[Need]) -> bool:
    """Whether the device holds all of them at once."""
    return loads(needs) <= 3 and distinct(needs, ConfigSt) <= 1 and distinct(needs, ConfigEx) <= 1


@given(st.lists(st.lists(NEEDS, max_size=6), max_size=5))
def test_phases_find_what_they_need(phases: list[list[Need]]) -> None:
    settings, device = DeviceSettings(CONFIG), Device()
    for needs in phases:
        at_start, each = settings.phase(lambda needs=needs: demands(settings, needs))
        device.run(at_start)
        for need, id, commands in each:
            device.run(commands)
            device.check(need, id)


@given(st.lists(NEEDS, max_size=8))
def test_a_whole_program_is_one_phase_where_it_fits(needs: list[Need]) -> None:
    settings, device = DeviceSettings(CONFIG), Device()
    whole = settings.whole(lambda: demands(settings, needs))
    assert (whole is not None) == fit(needs)
    if whole is None:
        return
    device.run(whole[0])
    assert len(whole[0]) <= 5
    for need, id, commands in whole[1]:
        assert not commands, "a command that sets, though the phase holds it"
        device.check(need, id)


def test_what_did_not_fit_leaves_nothing() -> None:
    settings = DeviceSettings(CONFIG)
    needs: list[Need] = [ConfigLd(stride_bytes=16 * n, block_stride=8) for n in range(1, 5)]
    assert settings.whole(lambda: demands(settings, needs)) is None
    at_start, _ = settings.phase(lambda: demands(settings, needs[:1]))
    assert len(at_start) == 1


def test_what_the_device_holds_is_not_set_again() -> None:
    settings = DeviceSettings(CONFIG)
    needs = [ConfigLd(stride_bytes=16, block_stride=8), ConfigSt(stride_bytes=16)]
    assert len(settings.phase(lambda: demands(settings, needs))[0]) == 2
    assert settings.phase(lambda: demands(settings, needs))[0] == ()


def test_stores_by_block_come_with_settings_and_the_others_beside_them_too():
    settings, one = DeviceSettings(CONFIG), ConfigSt(stride_bytes=16)

    def only_by_block():
        settings.before_each(ConfigSt)
        settings.before_each(ConfigSt)
        return ()

    assert settings.phase(only_by_block) == ((), ())
    # Whatever the device held before is not known any more.
    start, made = settings.phase(lambda: settings.other(one))
    assert (len(start), made) == (1, ())

    def mixed():
        before = settings.other(one)
        settings.before_each(ConfigSt)
        return (*before, *settings.other(one))

    for _ in range(2):
        start, made = settings.phase(mixed)
        assert start == () and len(made) == 2
    assert len(settings.phase(lambda: settings.other(one))[0]) == 1
