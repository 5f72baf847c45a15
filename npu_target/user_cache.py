"""Where things are kept that can be made again."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_cache_path


def user_cache() -> Path:
    """The user's folder for them, which need not be there; deleting it costs time only."""
    return user_cache_path("npu_target")
