"""Real models and images, which are kept beside the checkout and not in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_model(name: str) -> Path:
    """The file `name` in $NPU_MODELS_DIR or ../shared/models; skips the test if it is not there."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "models"
    folder = Path(os.environ.get("NPU_MODELS_DIR", beside))
    if not (folder / name).is_file():
        pytest.skip(f"no {name} in {folder}; set NPU_MODELS_DIR to the folder of shared models")
    return folder / name
