"""Where arguments and constants lie by default, as the simulator has it."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
import tvm_ffi
from device_api.adder.device import CONFIG
from hypothesis import given, settings
from hypothesis import strategies as st
from program_strategies import programs

from npu_target.device_api import create_module
from npu_target.device_api.simulators import DeviceRun, register_simulator
from npu_target.program import Address, Arg, Command, Constant, Operand, Program
from npu_target.program.addresses import (
    FIRST_ADDRESS,
    PAGE_BYTES,
    default_addresses,
    whole_pages,
)

FUNCTION = "npu.simulator.adder"


@given(programs(with_constants=True), st.integers(0, 2**20))
def test_each_has_pages_of_its_own_and_no_more_of_them_than_it_needs(program, page):
    first = page * PAGE_BYTES
    addresses = default_addresses(program, first)
    assert list(addresses) == [place.name for place in program.places]
    least = first
    for place, unit in zip(program.places, program.alignments, strict=True):
        address = addresses[place.name]
        assert address % unit == 0 and address % PAGE_BYTES == 0
        assert 0 <= address - least < max(PAGE_BYTES, unit)
        least = address + place.nbytes


@given(st.integers(0, 10**9))
def test_whole_pages(nbytes):
    pages = whole_pages(nbytes)
    assert pages % PAGE_BYTES == 0 and 0 <= pages - nbytes < PAGE_BYTES


@pytest.fixture(scope="module")
def runs():
    """What the simulator of a kind is told."""
    found: list[DeviceRun] = []

    def simulate(run: DeviceRun) -> dict[str, int]:
        found.append(run)
        return {"cycles": 1}

    register_simulator("adder", simulate)
    yield found
    tvm_ffi.registry.remove_global_func(FUNCTION)


SIZES = st.lists(st.tuples(st.integers(1, 3 * PAGE_BYTES), st.integers(0, 20)), max_size=4)


@settings(deadline=None)
@given(SIZES, SIZES)
def test_the_simulator_has_them_there(runs, arguments, constants):
    args = tuple(
        Arg(f"a{n}", "input", "int8", (nbytes,)) for n, (nbytes, _) in enumerate(arguments)
    )
    made = tuple(Constant(f"c{n}", bytes(nbytes)) for n, (nbytes, _) in enumerate(constants))
    units = [unit for _, unit in (*arguments, *constants)]
    body = tuple(
        Command(0, Operand(0, Address(n, unit)), Operand()) for n, unit in enumerate(units)
    )
    program = Program("f", CONFIG, args, body, made)
    tensors = [tvm.runtime.tensor(np.zeros(arg.shape, arg.dtype)) for arg in args]
    runs.clear()
    create_module({"f": program.to_bytes()})["f"](*tensors)
    [run] = runs
    expected = default_addresses(program)
    found = {held.address: held.nbytes for held in run.dram.ranges}
    assert found == {expected[place.name]: place.nbytes for place in program.places}
    words = [int(word) << unit for word, unit in zip(run.words[:, 0], units, strict=True)]
    assert words == list(expected.values())
    assert all(address >= FIRST_ADDRESS for address in words)
