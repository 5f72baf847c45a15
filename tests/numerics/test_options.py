"""What is asked for, and what is said of what cannot be."""

import pytest

from npu_target.numerics import NumericsError, NumericsOptions

LAYERS = ["conv_1", "conv_2", "dense"]


def test_names_that_are_not_there_have_near_matches():
    with pytest.raises(NumericsError, match="host: no layer is called 'conv_3'; did you mean conv"):
        NumericsOptions(host=frozenset({"conv_3"})).check_names(LAYERS)
    with pytest.raises(NumericsError, match="there are: conv_1, conv_2, dense"):
        NumericsOptions(exact=frozenset({"xyz"})).check_names(LAYERS)
    with pytest.raises(NumericsError, match="l0, l1, l2, l3, l4, l5, l6, l7 and 12 more"):
        NumericsOptions(device=frozenset({"zz"})).check_names([f"l{i}" for i in range(20)])
    NumericsOptions(host=frozenset(LAYERS)).check_names(LAYERS)


def test_what_excludes_each_other():
    one = frozenset({"conv_1"})
    with pytest.raises(NumericsError, match="conv_1: both host and on-device"):
        NumericsOptions(host=one, device=one)
    with pytest.raises(NumericsError, match="conv_1: both on-device and exact"):
        NumericsOptions(device=one, exact=one)
    NumericsOptions(host=one, exact=one)  # what is on the host is exact
    with pytest.raises(NumericsError, match="no mode is called 'best'; there are: exact, fast"):
        NumericsOptions("best")


def test_who_may_differ():
    options = NumericsOptions("fast", exact=frozenset({"conv_1"}))
    assert [options.is_fast(layer) for layer in LAYERS] == [False, True, True]
    options = NumericsOptions(device=frozenset({"conv_1"}))
    assert [options.is_fast(layer) for layer in LAYERS] == [True, False, False]
