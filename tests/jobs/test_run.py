"""What `npu-target run` prints of outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from npu_target.files import WriteError
from npu_target.jobs.run import _print, _save


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (np.array([[-4, 7]], np.int8), "    1          7\n    0         -4\n"),
        (np.array([[0.5, 0.25]], np.float32), "    0     0.5000\n    1     0.2500\n"),
        (np.array([-4, 7], np.int64), "output 0: int64 2, -4 to 7\n"),
        (np.array([0.5], np.float32), "output 0: float32 1, 0.5000 to 0.5000\n"),
        (np.array(3, np.int32), "output 0: int32 scalar, 3 to 3\n"),
        (np.zeros((0, 3), np.int32), "output 0: int32 0x3, empty\n"),
    ],
)
def test_integers_are_printed_as_such(output, said, capsys):
    _print([output], [], 5)
    assert capsys.readouterr().out == said


@pytest.mark.parametrize("count", [1, 2])
def test_a_full_disk_is_named(count):
    made = [[np.zeros(1 << 16, np.int8)] * count]
    with pytest.raises(WriteError, match=r"^/dev/full cannot be written: .*[Nn]o space left"):
        _save(Path("/dev/full"), made)
