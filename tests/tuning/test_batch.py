"""What a search is told of a batch."""

from __future__ import annotations

import numpy as np
import pytest
from tuning.test_tuner import CONFIG, CYCLE, LAYERS, MUCH_HOST, NO_HOST

from npu_target.tuning.batch import Batch
from npu_target.tuning.candidate import Candidate
from npu_target.tuning.compiling import Compiled
from npu_target.tuning.failure import WRONG_RESULT, Failure
from npu_target.tuning.state import LayerState
from npu_target.tuning.workload import workload_module


def candidate(host) -> Candidate:
    return Candidate([[], []], Compiled(b"", str(host), 1, np.zeros(1), host))


def test_programs_over_a_bound_of_the_host_count_for_more():
    state = LayerState(LAYERS[0], workload_module(LAYERS[0].operator, CONFIG), CONFIG)
    failure = Failure(WRONG_RESULT, "played")
    candidates = [candidate(NO_HOST), candidate(MUCH_HOST), candidate(NO_HOST)]
    batch = Batch(state, candidates, {0: 500 * CYCLE, 1: 500 * CYCLE, 2: failure})
    learned, cycles = batch.learned()
    assert learned == candidates
    assert cycles == [500, pytest.approx(505), None]
