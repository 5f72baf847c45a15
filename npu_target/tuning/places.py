"""Where tuning logs are: those that come with this package, and one's own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from platformdirs import user_data_path

import npu_target

_FOLDER = "tuning_logs"
NO_LOGS = "none"  # in place of a folder


def own_logs() -> Path:
    """The user's folder of logs, which need not be there."""
    return user_data_path("npu-target") / _FOLDER


@cache
def shipped_logs() -> Path:
    """The folder of logs that come with the package: in it, or in a checkout beside it."""
    package = Path(npu_target.__file__).parent  # its path has more folders in a checkout
    inside = package / _FOLDER
    return inside if inside.is_dir() else package.parent / _FOLDER
