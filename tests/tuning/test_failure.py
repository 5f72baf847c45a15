from __future__ import annotations

import pytest

from npu_target.tuning.failure import Failure


@pytest.mark.parametrize("message", ["", "one line", "two\nlines", "[brackets] inside"])
def test_text_round_trip(message):
    failure = Failure("wrong_result", message)
    assert Failure.parse(str(failure)) == failure


def test_a_text_of_another_origin():
    assert Failure.parse("LocalRunner: timeout") == Failure("run_error", "LocalRunner: timeout")


def test_the_devices_own_kind_is_kept():
    error = RuntimeError(
        "RPCError: Error caught from RPC call:\nTraceback ...\n"
        "RuntimeError: NpuDeviceError [address_out_of_range] command 17 mvin(...): needs 5, has 4\n"
    )
    assert Failure.of_device_error(error) == Failure(
        "address_out_of_range", "command 17 mvin(...): needs 5, has 4"
    )


def test_other_errors_keep_their_last_line():
    assert Failure.of_device_error(RuntimeError("stack\n  frames\nthe reason\n")) == Failure(
        "run_error", "the reason"
    )
    assert Failure.of_device_error(OSError()).message == "OSError"
