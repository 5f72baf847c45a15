"""Errors of devices, found in texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npu_target.device.error_text import device_error_in

words = st.text(st.characters(blacklist_characters="[\n\r"), max_size=20)


@given(words, st.sampled_from(["race", "timed_out"]), words.map(str.strip), words)
def test_kind_and_line(before, kind, message, behind):
    text = f"{before}\nNpuDeviceError [{kind}] {message}\n{behind}"
    assert device_error_in(text) == (kind, message)


def test_a_kind_alone():
    assert device_error_in("NpuDeviceError [race]\nat that") == ("race", "")


@given(words)
def test_texts_of_others(text):
    assert device_error_in(text) is None
