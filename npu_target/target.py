"""TVM targets for devices, and the device of a target.

The target kind is `ext_dev`, which takes no attributes of ours: the device is named by the
target's `model`. Presets have tags: `Target("npu/gemmini-16x16")`. For any other device the model
spells out how it differs from the default one, so that a target means the same device in every
process it is sent to.
"""

from __future__ import annotations

from typing import Any

from tvm.target import Target

from .device import ConfigError, DeviceConfig, kind_named, kind_of, preset, presets
from .tags import DEVICE, KIND, TAG_PREFIX, register_tags, tag_config

# For a checkout that is on the path but not installed: TVM ran no entry point of ours.
register_tags()

_SEPARATOR = "#"


def make_target(config: DeviceConfig, host: Target | str | dict[str, Any] | None = None) -> Target:
    """The target of a device, with TVM's `host` target for what runs beside it."""
    fields = tag_config(config.name)
    if presets().get(config.name) != config:
        del fields["tag"]
        fields["model"] = _model_of(config)
    if host is not None:
        fields["host"] = host
    return Target(fields)


def config_of(target: Target | str | dict[str, Any]) -> DeviceConfig:
    """The device of a target: one of `make_target`, a tag, or an `ext_dev` target whose `model`
    (or `tag`, or `device`) names a preset.

    Raises ConfigError for any other target.
    """
    target = target if isinstance(target, Target) else Target(target)
    if target.kind.name != KIND:
        raise ConfigError(f"target {target}: needs kind {KIND!r}, is {target.kind.name!r}")
    device = target.attrs.get("device")
    if device is not None and device != DEVICE and device not in presets():
        raise ConfigError(f"target {target}: device is {device!r}, needs {DEVICE!r}")
    model = target.attrs.get("model")
    if model is not None:
        return _config_of_model(str(model))
    tag = str(target.tag)
    for name in (tag[len(TAG_PREFIX) :] if tag.startswith(TAG_PREFIX) else None, device):
        if name in presets():
            return preset(str(name))
    raise ConfigError(
        f"target {target}: names no device; use one of the tags "
        f"{', '.join(TAG_PREFIX + name for name in presets())}, or make_target"
    )


def _model_of(config: DeviceConfig) -> str:
    """`kind:name#hash field=value...`, the fields that differ from the kind's first preset."""
    default = kind_of(config).presets[0].numbers()
    changed = [
        f" {key}={int(value)}" for key, value in config.numbers().items() if value != default[key]
    ]
    return f"{config.kind}:{config.name}{_SEPARATOR}{config.hash}{''.join(changed)}"


def _config_of_model(model: str) -> DeviceConfig:
    if model in presets():
        return presets()[model]
    name, separator, rest = model.rpartition(_SEPARATOR)
    if not separator:
        raise ConfigError(
            f"target model {model!r}: no preset is called so; there are: {', '.join(presets())}"
        )
    kind_name, _, name = name.partition(":")
    kind = kind_named(kind_name)
    hash_, *items = rest.split(" ")
    numbers = {key: int(value) for key, value in kind.presets[0].numbers().items()}
    for item in items:
        key, _, text = item.partition("=")
        if key not in numbers or not text.isdecimal():
            raise ConfigError(
                f"target model {model!r}: {item!r} is no field of a device of kind {kind_name}"
            )
        numbers[key] = int(text)
    config = kind.config.from_numbers(name, numbers, f"target model {model!r}")
    if config.hash != hash_:
        raise ConfigError(
            f"target model {model!r}: describes a device with hash {config.hash}; "
            "it was made by a version of npu_target with another default device"
        )
    return config
