"""Step 1: the kind of device is known, and its devices keep their identity."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npu_target.device import ConfigError, DeviceConfig, DeviceKind, load, presets
from npu_target.target import config_of, make_target


def test_presets_are_known_by_name(kind: DeviceKind) -> None:
    for preset in kind.presets:
        assert presets()[preset.name] is preset


def test_every_number_counts_and_the_name_does_not(config: DeviceConfig) -> None:
    assert config.replace(name="other").hash == config.hash
    assert len({preset.hash for preset in presets().values()}) == len(presets())
    assert set(config.limits.fields) == set(config.numbers()), "every number has its limits"


def test_numbers_out_of_their_limits_are_refused(config: DeviceConfig) -> None:
    for field, (least, most) in config.limits.fields.items():
        if isinstance(getattr(config, field), bool):
            continue
        for value in (least - 1, most + 1):
            with pytest.raises(ConfigError, match=field):
                config.replace(**{field: value})


def test_a_file_gives_the_device_back(config: DeviceConfig, tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    config.save(path)
    assert load(path) == config
    fields = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**fields, "unheard_of": 1}), encoding="utf-8")
    with pytest.raises(ConfigError, match="unheard_of"):
        load(path)


def test_a_target_gives_the_device_back(config: DeviceConfig) -> None:
    assert config_of(make_target(config)) == config
    other = config.replace(name="other", clock_khz=config.clock_khz + 1)
    assert config_of(make_target(other)) == other


def test_memories_hold_blocks_of_the_devices_side(config: DeviceConfig) -> None:
    config.check_memories()
