"""Names of pipelines, and flags on top."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.pipeline_options import (
    DEFAULT,
    O0,
    O1,
    O2,
    PIPELINES,
    PipelineError,
    PipelineOptions,
    flags,
)


@given(st.sets(st.sampled_from(flags())))
def test_the_text_gives_the_options_back(names):
    options = PipelineOptions.only(names)
    assert PipelineOptions.parse(str(options)) == options
    assert {flag for flag in flags() if getattr(options, flag)} == names


def test_names():
    assert [str(options) for options in PIPELINES.values()] == ["O0", "O1", "O2"]
    assert PipelineOptions.only(()) == O0
    assert PipelineOptions() == O2 == DEFAULT
    assert not O1.overlap
    assert O1.unrolling


def test_flags_on_top():
    assert PipelineOptions.parse("O0, +overlap") == PipelineOptions.only(["overlap"])
    assert PipelineOptions.parse("O2,-overlap,+overlap") == O2
    assert str(PipelineOptions.parse("O2,-sums")) == "O2,-sums"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("O3", "none of the names O0, O1, O2"),
        ("", "none of the names"),
        ("O0,overlap", "'overlap' is no \\+ or - with one of prefetching, "),
        ("O0,+speed", "'\\+speed' is no"),
    ],
)
def test_what_is_no_pipeline(text, said):
    with pytest.raises(PipelineError, match=said):
        PipelineOptions.parse(text)


def test_every_flag_is_explained():
    for flag in flags():
        assert f"\n    {flag} : " in str(PipelineOptions.__doc__)
