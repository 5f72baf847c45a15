"""Where benchmarks write what they found."""

from __future__ import annotations

from pathlib import Path

RESULTS = Path(__file__).parents[1] / "docs" / "results"
