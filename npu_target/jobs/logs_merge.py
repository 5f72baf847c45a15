"""Joining several folders of tuning logs."""

from __future__ import annotations

import argparse

from ..tuning.header import Header
from ..tuning.log import TuningLog
from ..tuning.merge import merge


def run(options: argparse.Namespace) -> int:
    logs = [TuningLog(folder, Header.read(folder)) for folder in options.folders]
    merged = merge(logs, options.output, options.command_line)
    print(f"wrote {merged.folder}: {merged.records} schedules, {merged.failures} failures")
    return 0
