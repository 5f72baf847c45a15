"""What TVM runs at the end of `import tvm`: this package's tags and its device.

A leaf module: it may run while any other module of the package is half imported, because that
module has just imported TVM. So it imports nothing of the package that imports TVM itself.
"""

from __future__ import annotations

from .config import PRESETS

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
    """Make `npu/<preset>` known to `tvm.target.Target`. Later calls do nothing."""
    from tvm.target.tag import list_tags, register_tag

    known = list_tags()
    if known is None:  # a runtime-only TVM has no targets
        return
    for name in PRESETS:
        if TAG_PREFIX + name not in known:
            register_tag(TAG_PREFIX + name, tag_config(name))


def register() -> None:
    """Register the tags, then load the device library.

    Raises ImportError, which TVM turns into a warning, when the library was not built; its text
    says how to.
    """
    register_tags()
    from .device_api._library import load_library

    load_library()
