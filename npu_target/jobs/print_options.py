"""The stages that `--print-ir-after` names, and whether `--print-ir-to` has some to write."""

from __future__ import annotations

import argparse

from ..stages import check_stages
from .errors import UsageError, of_option


def asked_stages(options: argparse.Namespace) -> frozenset[str]:
    """Those of `cli.options.add_print_options`. Raises UsageError for a name that is none,
    and for a folder without a stage to write into it."""
    with of_option("--print-ir-after"):
        stages = check_stages(options.print_ir_after)
    if options.print_ir_to is not None and not stages:
        raise UsageError("--print-ir-to: needs --print-ir-after PASS, or 'all'")
    return stages
