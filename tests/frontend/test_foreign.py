"""Errors of libraries are refusals; those of code that they call back are not."""

import pytest

from npu_target.frontend import FrontendError
from npu_target.frontend.foreign import called_back, first_line, refusing


def library(callback=None):
    """Catches what it is called back for, as TVM's importer does, and has errors of its own."""
    try:
        if callback is not None:
            callback()
    except Exception as error:
        raise RuntimeError("wrapped") from error
    raise KeyError("no such thing")


def test_what_a_library_raises_is_a_refusal():
    with pytest.raises(FrontendError, match="net: KeyError: 'no such thing'") as caught:
        with refusing(lambda error: f"net: {first_line(error)}"):
            library()
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("error", [TypeError("ours"), FrontendError("net: said already")])
def test_what_is_called_back_raises_its_own(error):
    def callback():
        with called_back():
            raise error

    with pytest.raises(type(error)) as caught:
        with refusing(str):
            library(callback)
    assert caught.value is error


def test_who_interrupts_is_not_held_up():
    with pytest.raises(KeyboardInterrupt):
        with refusing(str), called_back():
            raise KeyboardInterrupt


def test_the_first_line_of_an_error_without_text_is_its_kind():
    assert first_line(AssertionError()) == "AssertionError"
