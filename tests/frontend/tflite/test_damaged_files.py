"""Damaged .tflite files: a message, or the network that TFLite's reference kernels have, too."""

import contextlib
import time

import pytest
from damaged_files import check_values, damage
from tflite_models import imported
from tflite_networks import single_operators, small_network

from npu_target.frontend import FrontendError

_MOST_SECONDS = 5  # of one import


def import_damaged(folder, count, seed):
    """Import so many damaged files; how many became networks, the longest time in seconds."""
    content, networks, longest = small_network(), 0, 0.0
    for changed in damage([content], count, seed):
        start = time.process_time()
        try:
            imported(changed, folder)
            networks += 1
        except FrontendError:
            pass
        longest = max(longest, time.process_time() - start)
    return networks, longest


def test_damaged_files(tmp_path):
    networks, longest = import_damaged(tmp_path, 300, seed=0)
    # Most bits are weights.
    assert 0 < networks < 300
    assert longest < _MOST_SECONDS


@pytest.mark.parametrize("word", [b"\xff\xff\xff\xff", b"\xf0\xff\xff\xff", b"\xff\xff\xff\x7f"])
def test_every_word_may_be_any(tmp_path, word):
    """Offsets, sizes and positions that lead out of all numbers."""
    small = min(single_operators(), key=len)
    for at in range(0, len(small) - 4, 4):
        with contextlib.suppress(FrontendError):
            imported(small[:at] + word + small[at + 4 :], tmp_path)


@pytest.mark.slow
def test_many_damaged_files(tmp_path):
    networks, longest = import_damaged(tmp_path, 100_000, seed=1)
    assert 0 < networks < 100_000
    assert longest < _MOST_SECONDS


def test_values_of_damaged_files(tmp_path):
    check_values(tmp_path / "net.tflite", [small_network(), *single_operators()], 200, seed=2)


@pytest.mark.slow
def test_values_of_many_damaged_files(tmp_path):
    check_values(tmp_path / "net.tflite", [small_network(), *single_operators()], 5_000, seed=3)
