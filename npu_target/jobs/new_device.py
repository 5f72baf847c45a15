"""Writing the package of a new kind of device."""

from __future__ import annotations

import argparse
import shlex

from ..new_device.package import write_package


def run(options: argparse.Namespace) -> int:
    written = write_package(options.name, options.folder)
    print(f"{options.folder}: {', '.join(map(str, written))}")
    print("Next:")
    print(f"  pip install -e {shlex.quote(str(options.folder))}")
    print(f"  pytest --pyargs npu_target.conformance --device {options.name}")
    return 0
