"""What TVM runs at the end of `import tvm`: registers this package's tags and its device.

A leaf module: it may run while any other module of the package is half imported, because that
module has just imported TVM. It must not import those.
"""

from __future__ import annotations

from .tags import register_tags


def register() -> None:
    """Register the tags, then load the device library.

    Raises ImportError, which TVM turns into a warning, when the library was not built; its text
    says how to.
    """
    register_tags()
    # Imports TVM, so not before register() is called: by then TVM is there.
    from .device_api._library import load_library

    load_library()
