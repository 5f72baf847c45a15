"""The TVM target tags of the presets: `Target("npu/gemmini-16x16")`.

A leaf module that imports TVM only when called: the entry point uses it at the end of
`import tvm`, when any other module of the package may be half imported.
"""

from __future__ import annotations

from .device import presets

KIND = "ext_dev"  # TVM's kind for devices from outside
DEVICE = "npu"
TAG_PREFIX = "npu/"


def tag_config(name: str) -> dict[str, object]:
    """The target that the tag of a preset stands for."""
    return {
        "kind": KIND,
        "tag": TAG_PREFIX + name,
        "keys": [DEVICE],
        "device": DEVICE,
        "model": name,
    }


def register_tags() -> None:
    """Make the tags known to TVM. Later calls do nothing."""
    from tvm.target.tag import list_tags, register_tag

    known = list_tags()
    if known is None:  # a runtime-only TVM has no targets
        return
    for name in presets():
        if TAG_PREFIX + name not in known:
            register_tag(TAG_PREFIX + name, tag_config(name))
