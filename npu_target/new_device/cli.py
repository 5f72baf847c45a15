"""The command line of `python -m npu_target.new_device`."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from .package import NewDeviceError, write_package


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m npu_target.new_device",
        description="Write a package for a new kind of device: one that works, for you to edit.",
        epilog="Exit code: 1 where it cannot be written, with the reason; nothing is left then.",
    )
    parser.add_argument("name", metavar="NAME", help="of the device and of its package: my_npu")
    parser.add_argument("folder", metavar="DIR", type=Path, help="to be made for the package")
    options = parser.parse_args(arguments)
    try:
        written = write_package(options.name, options.folder)
    except NewDeviceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{options.folder}: {', '.join(map(str, written))}")
    print("Next:")
    print(f"  pip install -e {shlex.quote(str(options.folder))}")
    print(f"  pytest --pyargs npu_target.conformance --device {options.name}")
    return 0
