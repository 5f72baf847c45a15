"""What is measured, for kinds that say so."""

from __future__ import annotations

import numpy as np
import pytest

from npu_target.calibrate.errors import CalibrationError
from npu_target.calibrate.experiments import (
    LAYERS,
    arrays_of,
    expected_outputs,
    experiments_of,
)
from npu_target.device import preset

DEFAULT = preset("gemmini-16x16")


@pytest.mark.long
def test_programs_and_layers() -> None:
    found = experiments_of(DEFAULT)
    held_out = [one for one in found if one.is_held_out]
    assert {one.group for one in held_out} == {LAYERS}
    assert 4 < len(held_out) < 12 and len(found) > 50
    for one in held_out:
        arrays = arrays_of(one.program)
        assert [array.nbytes for array in arrays] == [arg.nbytes for arg in one.program.args]
        again = arrays_of(one.program)
        assert all(np.array_equal(a, b) for a, b in zip(arrays, again, strict=True))
        assert len(expected_outputs(one.program)) == one.program.args[-1].nbytes
    assert len({one.name for one in found}) == len(found)


def test_groups_are_left_out() -> None:
    found = experiments_of(DEFAULT, ["host", LAYERS])
    assert "host" not in {one.group for one in found}
    assert not any(one.is_held_out for one in found)
    with pytest.raises(CalibrationError, match=r"no group 'hosts'.*there are host, loads"):
        experiments_of(DEFAULT, ["hosts"])
