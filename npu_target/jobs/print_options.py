"""The stages that `--print-ir-after` names, and whether `--print-ir-to` has some to write."""

from __future__ import annotations

import argparse

from ..stages import check_stages
from .errors import UsageError


def asked_stages(options: argparse.Namespace) -> frozenset[str]:
    """Those of `cli.options.add_print_options`. Raises StageError as `check_stages` does, and
    UsageError for a folder without a stage to write into it."""
    stages = check_stages(options.print_ir_after)
    if options.print_ir_to is not None and not stages:
        raise UsageError("--print-ir-to: needs --print-ir-after PASS, or 'all'")
    return stages
