"""Orders that the hardware does not keep: refused, with every command that has to do with it."""

from __future__ import annotations

import re

import pytest
from device_api.loop_streams import MatmulTile
from device_api.race_cases import (
    BANK,
    CASES,
    COMPUTE,
    MVIN,
    MVIN2,
    MVIN3,
    MVOUT,
    NOTHING,
    OUT,
    PRELOAD,
    SUM,
    load,
    matmul,
    store,
)
from device_api.streams import (
    ACC,
    ACCUMULATE,
    BASE,
    FLUSH,
    MEMORY_BYTES,
    SMALL,
    Words,
    config_ex,
    config_ld,
    config_st,
    local,
    pack,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.device import GARBAGE
from reference.races import ACC_BANK_ROWS, BLOCK_STRIDE, LOAD_STRIDE, STORE_STRIDE, Races

from npu_target.device_api import run_stream
from npu_target.tuning.failure import Failure

SETTINGS = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
SETUP = [
    config_ld(LOAD_STRIDE, load_id=0, block_stride=BLOCK_STRIDE),
    config_ld(LOAD_STRIDE, load_id=1, block_stride=BLOCK_STRIDE, shrunk=True),
    config_ld(0, load_id=2, block_stride=BLOCK_STRIDE),
    config_st(STORE_STRIDE),
    config_ex(),
]


def error_of(words: list[Words]) -> str | None:
    """What the device says of a stream after the set-up, None if it takes it."""
    try:
        run_stream(SMALL, pack(words), BASE, bytes(MEMORY_BYTES), races=True)
    except RuntimeError as error:
        return str(error).splitlines()[-1] if "NpuDeviceError" in str(error) else repr(error)
    return None


def check(words: list[Words]) -> bool:
    """The device says the same as the reference. Returns whether the stream races."""
    stream = SETUP + words
    first = Races(stream).first
    error = error_of(stream)
    if first is None:
        # A load between a preload and its compute can wait for the one and hold up the other.
        assert error is None or "[timed_out] the device hangs" in error
    else:
        assert error is not None, f"command {first} races"
        assert re.search(rf"\[race\] command {first} ", error), (first, error)
    return first is not None


@pytest.mark.parametrize("name", CASES)
def test_rules(name: str) -> None:
    races, words = CASES[name]
    assert check(words) == races


@st.composite
def streams(draw: st.DrawFn) -> list[Words]:
    """Few places, so that commands meet."""
    words: list[Words] = []
    places = st.sampled_from([0, 4, 8, 16, 20, 32])
    counts = st.sampled_from([2, 4, 8, 16])
    drams = st.sampled_from([BASE, BASE + 16, BASE + 96, OUT, OUT + 512])

    def transfer(memories: list[int]) -> Words:
        rows, cols = draw(counts), draw(st.sampled_from([16, 16, 24]))
        place = draw(places) | draw(st.sampled_from(memories))
        if place >= ACC and draw(st.integers(0, 2)) == 0:
            place = place & ~32 | ACC_BANK_ROWS
        if draw(st.integers(0, 2)) == 0:
            return store(place & ~(1 << 30), rows, draw(drams), cols)
        if draw(st.integers(0, 5)) == 0:
            return load(place, rows, 16, 0)
        if place < ACC or draw(st.booleans()):
            return load(place, rows, cols, draw(drams), MVIN2)
        return load(place, rows, 16, draw(drams), draw(st.sampled_from([MVIN, MVIN3])))

    has_weights = False
    for _ in range(draw(st.integers(2, 9))):
        kind = draw(st.integers(0, 7))
        if kind == 0:
            words.append(config_ex())
        elif kind <= 2:
            rows = draw(counts)
            sums = [ACCUMULATE | row for row in (0, 2, 6, 15)]
            c = draw(st.sampled_from([GARBAGE, ACC, ACC | 4, *sums, 0, 8, 16, 36]))
            b = draw(st.sampled_from([*[GARBAGE] * has_weights, 0, 8, 16, 32]))
            has_weights = True
            preload, compute = matmul(draw(places), b, c, rows)
            words.append(preload)
            if draw(st.integers(0, 3)) == 0:
                # What waits for the operands of a preload would wait for its compute too.
                words.append(transfer([ACC, ACC, ACCUMULATE]))
            words.append(compute)
        else:
            words.append(transfer([0, 0, ACC, ACC, ACCUMULATE]))
    return words


@st.composite
def bank_streams(draw: st.DrawFn) -> list[Words]:
    """Zeros and data into the accumulator's banks, and what may order them."""
    words: list[Words] = []
    for number in range(draw(st.integers(3, 9))):
        bank = draw(st.sampled_from([ACC, BANK]))
        place = bank + draw(st.sampled_from([0, 0, 0, 8, 24]))
        kind = draw(st.sampled_from(["zeros", "wide", "repeated", "array", "store", "stores"]))
        if kind == "zeros":
            words.append(load(place, 8, 16, 0))
        elif kind == "wide":
            words.append(load(place, 8, 24, funct=MVIN2))
        elif kind == "repeated":
            words.append(load(place | draw(st.sampled_from([0, ACCUMULATE])), 8, funct=MVIN3))
        elif kind == "store":
            words.append(store(place, 8, OUT + 256 * number))
        elif kind == "stores":  # of one bank, then of the other
            words.append(store(place, 16, OUT + 256 * number))
            words.append(store(place ^ ACC_BANK_ROWS, 16, OUT + 256 * number))
        else:
            words += matmul(0, 64, place, 8)
    return words


@given(bank_streams())
@settings(max_examples=1000, **SETTINGS)
def test_random_streams_of_banks(words: list[Words]) -> None:
    check(words)


@given(streams())
@settings(max_examples=1500, **SETTINGS)
def test_random_streams(words: list[Words]) -> None:
    check(words)


@pytest.mark.slow
@given(streams())
@settings(max_examples=40_000, **SETTINGS)
def test_many_random_streams(words: list[Words]) -> None:
    check(words)


@pytest.mark.slow
@given(bank_streams())
@settings(max_examples=20_000, **SETTINGS)
def test_many_random_streams_of_banks(words: list[Words]) -> None:
    check(words)


def pooled(row: int, out_rows: int, in_cols: int = 4) -> list[Words]:
    """Windows of 1 over so many rows of pixels."""
    pool = (1, 1, 0, 0, in_cols, out_rows, in_cols, out_rows, in_cols)
    return [config_st(16, pool=pool), (MVOUT, OUT, local(row, 0, 16))]


def test_windows_beyond_what_is_compared() -> None:
    """Pooling from the scratchpad, the station sees the first row alone, but in every other part
    of the size of an accumulator bank; from the accumulator, all to the end of the bank."""
    assert SMALL.acc_bank_rows == ACC_BANK_ROWS and SMALL.acc_banks == 2
    for row, is_seen in ((0, False), (64, True)):
        stream = [*SETUP, load(row, 8), load(row + 8, 8), *pooled(row, 4)]
        error = error_of(stream)
        assert (error is None) == is_seen, error
        assert is_seen or ("[race] command 8 mvout" in error and "command 6 mvin" in error)
        assert error_of([*SETUP, load(row, 16), *pooled(row, 4)]) is None
    within = [*SETUP, load(ACC | 40, 8), load(ACC | 48, 8), *pooled(ACC | 40, 4)]
    assert error_of(within) is None
    beyond = [*SETUP, load(ACC | 56, 8), load(ACC | 64, 8), *pooled(ACC | 56, 4)]
    assert "command 6 mvin" in (error_of(beyond) or "")


def test_transposed_operands_have_rows_that_are_not_seen() -> None:
    config = config_ex(transpose_b=True)
    b = local(64, 4, 16)  # 4 rows of B, 16 rows of the scratchpad
    pair = [(PRELOAD, b, local(ACC, 16, 16)), (COMPUTE, local(0, 16, 4), NOTHING)]
    assert error_of([*SETUP, config, load(64), *pair]) is None
    error = error_of([*SETUP, config, load(64, 8), load(72, 8), *pair])
    assert "[race] command 8 preload" in error and "command 7 mvin" in error
    # And the other way round: overwritten before it is read.
    assert error_of([*SETUP, config, *pair, load(64)]) is None
    error = error_of([*SETUP, config, *pair, load(72, 8)])
    assert "[race] command 8 mvin" in error and "command 6 preload" in error


def test_the_array_reads_all_rows_of_a_transposed_operand_of_its_own() -> None:
    """Its result in rows 64 to 79; of 52 to 67 the station sees as many as B has rows."""
    config = config_ex(transpose_b=True)
    for rows in (12, 16):
        b = local(52, rows, 16)
        pair = [(PRELOAD, b, local(ACC, 16, 16)), (COMPUTE, local(0, 16, rows), NOTHING)]
        error = error_of([*SETUP, config, *matmul(0, 16, 64), *pair])
        assert "[race] command 9 compute_preloaded" in error and "command 6 preload" in error
    before = [
        (PRELOAD, local(48, 12, 16), local(ACC, 16, 16)),
        (COMPUTE, local(0, 16, 12), NOTHING),
    ]
    assert error_of([*SETUP, config, *matmul(0, 16, 64), *before]) is None


def test_pixel_repeats_shift_what_is_compared() -> None:
    repeats = config_ld(LOAD_STRIDE, repeats=4)
    weights = local(96, 16, 16)
    pair = [(PRELOAD, weights, local(ACC, 4, 16)), (COMPUTE, local(29, 1, 4), NOTHING)]
    assert error_of([*SETUP, repeats, load(16, cols=4), *pair]) is not None
    assert error_of([*SETUP, load(16, cols=4), *pair]) is None


def test_the_error_says_what_has_to_do_with_it() -> None:
    error = error_of([*SETUP, load(ACC), SUM, store(ACC)])
    for part in (
        "[race] command 7 mvout(acc 0x0, 16 rows x 16 cols",
        "rows 0 to 0 of the accumulator",
        "command 5 mvin(0x80010000 -> acc 0x0, 16 rows x 16 cols)",
        "command 6 mvin2(0x80010000 -> acc 0x0 (accumulate), 16 rows x 16 cols)",
    ):
        assert part in error
    assert Failure.of_device_error(RuntimeError(error)).kind == "race"


def loop(c: int, spad_ids: tuple[int, int] = (0, 0), residual_add: bool = False) -> list[Words]:
    """LOOP_WS of one block."""
    b = 0 if residual_add else BASE
    tile = MatmulTile(
        (1, 1, 1), (0, 0, 0), (BASE, b, 0, c), (16,) * 4, residual_add=residual_add,
        spad_ids=spad_ids,
    )  # fmt: skip
    return tile.words()


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (loop(OUT + 512, (2, 0)), None),
        (loop(OUT + 512, (1, 0)), "its loads of A may begin before the computes of that loop"),
        # Its own half may be either.
        (loop(OUT + 512), "its loads of A may begin before the computes of that loop"),
        (loop(OUT + 512, residual_add=True), "whether loop_ws adds (residual add)"),
    ],
)
def test_a_loop_right_behind_another(second: list[Words], reason: str | None) -> None:
    first = loop(OUT, (1, 0))
    assert error_of([*SETUP, *first, (FLUSH, 0, 0), *second]) is None
    error = error_of([*SETUP, *first, *second])
    if reason is None:
        assert error is None
    else:
        assert "[race] command 16 loop_ws" in error and "command 10 loop_ws" in error
        assert reason in error


def test_raw_streams_are_checked_on_request() -> None:
    words = pack([*SETUP, load(ACC), SUM, store(ACC)])
    run_stream(SMALL, words, BASE, bytes(MEMORY_BYTES))
    with pytest.raises(RuntimeError, match=r"\[race\]"):
        run_stream(SMALL, words, BASE, bytes(MEMORY_BYTES), races=True)
