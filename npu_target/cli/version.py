"""`npu-target --version`."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import npu_target

from ..device import kinds
from .errors import report_errors


class ShowVersion(argparse.Action):
    """Prints the versions and the known devices, and ends."""

    def __init__(self, option_strings: Sequence[str], dest: str, **settings: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **settings)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        def show() -> int:
            print("\n".join(version_lines()))
            return 0

        parser.exit(report_errors(parser.prog, show))


def version_lines() -> list[str]:
    """Package, TVM, Python, and each kind of device with its presets."""
    try:
        tvm = version("apache-tvm")
    except PackageNotFoundError:
        tvm = "not installed"
    lines = [f"npu-target {npu_target.__version__}", f"TVM {tvm}"]
    lines.append(f"Python {platform.python_version()}")
    lines += [
        f"devices of kind {kind.name}: {', '.join(preset.name for preset in kind.presets)}"
        for kind in kinds().values()
    ]
    return lines
