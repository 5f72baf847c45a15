"""Values of whole streams: the device library's simulator against NumPy."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vta_reference import Deadlock, Reference
from vta_streams import BASE, Stream, pack, streams

from npu_target.device_api import StreamResult, run_stream
from npu_target.devices.vta import VtaConfig, isa

DEVICES = (
    VtaConfig(),
    VtaConfig(name="vta-1x32x32", log_block_in=5, log_block_out=5),
    # Two batches, other blocks, few rows.
    VtaConfig(
        name="small",
        log_batch=1,
        log_block_in=3,
        log_block_out=2,
        log_uop_buffer_bytes=7,
        log_inp_buffer_bytes=8,
        log_wgt_buffer_bytes=8,
        log_acc_buffer_bytes=10,
    ),
)


def simulated(config: VtaConfig, stream: Stream) -> StreamResult:
    return run_stream(config, pack(stream.commands), BASE, stream.dram, races=True)


def check(reference: Reference, result: StreamResult) -> None:
    np.testing.assert_array_equal(np.frombuffer(result.memory, "uint8"), reference.dram)
    for name in ("uop", "wgt", "inp", "acc"):
        wanted = getattr(reference, name)
        found = np.frombuffer(result.memories[name], wanted.dtype).reshape(wanted.shape)
        np.testing.assert_array_equal(found, wanted, err_msg=name)


@pytest.mark.parametrize("config", DEVICES, ids=lambda config: config.name)
@given(data=st.data(), seed=st.integers(0, 2**16))
@settings(max_examples=60)
def test_ordered_streams(config: VtaConfig, data: st.DataObject, seed: int) -> None:
    """Streams with all their tokens are taken, and give what NumPy does."""
    stream = data.draw(streams(config))
    for command in stream.commands:
        command.validate(config)
    reference = Reference(config, BASE, stream.dram)
    reference.run(stream.commands, random.Random(seed))
    result = simulated(config, stream)
    check(reference, result)
    assert result.stats.commands == len(stream.commands)


@given(data=st.data(), seeds=st.lists(st.integers(0, 2**16), min_size=3, max_size=3))
@settings(max_examples=120)
def test_what_is_taken_does_not_depend_on_speeds(data: st.DataObject, seeds: list[int]) -> None:
    """With tokens left out a stream is refused, or gives the same whichever engine is faster."""
    config = DEVICES[2]
    stream = data.draw(streams(config, leaves_out_tokens=True))
    try:
        result = simulated(config, stream)
    except RuntimeError as error:
        kinds = ("[race]", "[undefined_configuration]", "[deadlock]", "[unsupported_command]")
        assert any(kind in str(error) for kind in kinds), error
        return
    for seed in seeds:
        reference = Reference(config, BASE, stream.dram)
        reference.run(stream.commands, random.Random(seed))
        check(reference, result)


@given(
    commands=st.lists(
        st.builds(
            isa.Load,
            memory=st.sampled_from([isa.INP, isa.UOP]),
            pop_next=st.booleans(),
            push_next=st.booleans(),
        ),
        max_size=6,
    )
)
def test_deadlocks(commands: list[isa.VtaCommand]) -> None:
    """Streams of tokens alone end on the device where they end in NumPy."""
    config = VtaConfig()
    whole = [*commands, isa.Finish()]
    try:
        Reference(config, BASE, b"").run(whole, random.Random(0))
    except Deadlock:
        with pytest.raises(RuntimeError, match=r"\[deadlock\]"):
            simulated(config, Stream(whole, bytes(4)))
        return
    try:
        simulated(config, Stream(whole, bytes(4)))
    except RuntimeError as error:
        assert "[race]" in str(error)  # tokens that are left, engines that go on


def test_rows_that_a_stream_is_given_are_defined() -> None:
    """All of a memory that is given, none of another."""
    config = DEVICES[0]
    given = {
        "uop": np.zeros(config.uop_rows, "<u4"),
        "inp": np.full((config.inp_rows, config.block_in), 2, "int8"),
        "wgt": np.full((config.wgt_rows, config.block_out, config.block_in), 3, "int8"),
        "acc": np.full((config.acc_rows, config.block_out), 5, "<i4"),
    }
    words = pack([isa.Gemm(uop_begin=0, uop_end=1), isa.Finish()])
    memories = {name: array.tobytes() for name, array in given.items()}
    result = run_stream(config, words, BASE, bytes(4), memories)
    sums = np.frombuffer(result.memories["acc"], "<i4").reshape(given["acc"].shape)
    assert (sums[0] == 5 + 6 * config.block_in).all() and (sums[1:] == 5).all()
    for name in memories:
        others = {key: data for key, data in memories.items() if key != name}
        with pytest.raises(RuntimeError, match="which nothing has written"):
            run_stream(config, words, BASE, bytes(4), others)
