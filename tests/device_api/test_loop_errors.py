"""What no loop command may do, and how the device says so."""

from __future__ import annotations

import dataclasses

import pytest
from device_api.loop_streams import ConvProblem, MatmulTile, pack_fields
from device_api.streams import BASE, Words, config_ld, config_st, pack

from npu_target.device_api import run_stream
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.loops import expand_loops

CONFIG = GemminiConfig(name="small", spad_bank_rows=64, acc_bank_rows=64)  # halves: 128 and 64 rows
TILE = MatmulTile((1, 1, 1), (0, 0, 0), (BASE, BASE, 0, BASE), (16, 16, 16, 16))
LOADS = [config_ld(16, load_id=load_id) for load_id in range(3)]
CONV = ConvProblem(
    1, (4, 4), 4, 4, 3, (BASE, BASE, BASE, BASE), (1, 2, 2, 4, 3, 3, 4), padding=1
)  # fmt: skip


WIDE = dataclasses.replace(CONV, in_channels=8, tile=(1, 2, 2, 4, 3, 3, 8), pixels_per_row=3)


def run(commands: list[Words], config: GemminiConfig = CONFIG) -> None:
    expand_loops(config, pack(commands))
    run_stream(config, pack(commands), BASE, bytes(4096))


def flipped(funct: int, rs1: int, rs2: int = 0) -> list[Words]:
    """The first loop of CONV, with bits of one of its commands flipped."""
    words = CONV.words()[2:9]
    return [(f, r1 ^ rs1, r2 ^ rs2) if f == funct else (f, r1, r2) for f, r1, r2 in words]


def tile(**changes: object) -> list[Words]:
    return dataclasses.replace(TILE, **changes).words()


def conv(**changes: object) -> list[Words]:
    return dataclasses.replace(CONV, **changes).words()[2:9]


OUT_OF_RANGE, UNSUPPORTED = "address_out_of_range", "unsupported_command"
CASES = [
    (UNSUPPORTED, tile(blocks=(0, 1, 1)), "at least 1, has I 0, J 1, K 1"),
    (UNSUPPORTED, tile(blocks=(1, 1, 0)), "at least 1, has I 1, J 1, K 0"),
    (UNSUPPORTED, tile(pads=(0, 16, 0)), "pads below 16, has I 0, J 16, K 0"),
    (UNSUPPORTED, tile(transpose_a=True, transpose_b=True), "at most one of A and B transposed"),
    (UNSUPPORTED, tile(residual_add=True, transpose_b=True), "as they are with residual add"),
    (
        UNSUPPORTED,
        tile(residual_add=True, addresses=(BASE, BASE, BASE, BASE)),
        "needs no D (address 0) with residual add",
    ),
    (UNSUPPORTED, tile(skipped=31), "at least one part that is not skipped"),
    (UNSUPPORTED, tile(skipped=1 << 6), "stores from the accumulator to the scratchpad"),
    (OUT_OF_RANGE, tile(blocks=(9, 1, 1)), "C takes at most 64 rows, half of the accumulator"),
    (OUT_OF_RANGE, tile(blocks=(65535, 65535, 65535)), "has 68717379600"),
    (OUT_OF_RANGE, tile(blocks=(1, 1, 5)), "A and B together takes at most 128 rows"),
    (OUT_OF_RANGE, tile(blocks=(1, 1, 9), spad_ids=(1, 2)), "A takes at most 128 rows"),
    (OUT_OF_RANGE, tile(spad_ids=(3, 0)), "half of the scratchpad with A, has 3"),
    (UNSUPPORTED, conv(kernel_dilation=0), "needs kernel dilation of at least 1, has 0"),
    (UNSUPPORTED, flipped(16, 0, 1 << 48), "needs stride of at least 1, has 0"),
    (UNSUPPORTED, flipped(19, 2 << 48), "needs output rows of at least 1, has 0"),
    (UNSUPPORTED, flipped(18, 100), "needs padding within the tile's 4 x 4 input"),
    (UNSUPPORTED, flipped(15, 0, 2 << 3), "activation 0 (none) or 1 (ReLU), has 2"),
    (UNSUPPORTED, flipped(15, 3 << 3), "at most one order of the weights"),
    (UNSUPPORTED, flipped(15, 0, 2), "to downsample, has 3x3, stride 1"),
    (UNSUPPORTED, conv(stride=2, input_dilation=2), "needs stride 1 for a dilated input, has 2"),
    (UNSUPPORTED, WIDE.words()[2:9], "at most 16, has 3 x 8"),
    (UNSUPPORTED, conv(pool=(4, 1, 0)), "needs a pool size of at most 3, has 4"),
    (OUT_OF_RANGE, conv(spad_ids=((0, 3),)), "half of the scratchpad with weights, has 3"),
    (OUT_OF_RANGE, flipped(19, (2 ^ 65535) << 48), "input takes at most 128 rows"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "words", "text"), CASES)
def test_refused(kind: str, words: list[Words], text: str) -> None:
    run([])
    start = rf"^NpuDeviceError \[{kind}\] command {len(words) - 1} loop_(conv_)?ws\("
    with pytest.raises(RuntimeError, match=start) as caught:
        run(words)
    assert text in str(caught.value)
    with pytest.raises(RuntimeError, match=start):  # values and expansion refuse alike
        run_stream(CONFIG, pack(words), BASE, bytes(4096))


@pytest.mark.parametrize("loop", [TILE.words(), CONV.words()[2:9]])
def test_every_part_of_the_configuration_is_needed(loop: list[Words]) -> None:
    for missing in range(len(loop) - 1):
        words = loop[:missing] + loop[missing + 1 :]
        funct = loop[missing][0]
        with pytest.raises(
            RuntimeError, match=rf"undefined_configuration.*needs command {funct} of"
        ):
            run(words)


def test_each_of_the_two_register_sets_is_configured() -> None:
    words = TILE.words()
    setup = [config_st(16), *LOADS, (0, 1 << 16 | 4, 1 << 48)]
    with pytest.raises(RuntimeError, match=r"undefined_configuration\] command 11 .*two sets"):
        run([*setup, *words, words[-1]])
    run([*setup, *words, *words, words[-1]])  # the third loop has what the first was given


def test_strides_that_nothing_uses_may_be_absent() -> None:
    words = [word for word in tile(addresses=(0, 0, 0, 0)) if word[0] not in (12, 13)]
    run([(0, 1 << 16 | 4, 1 << 48), *words])
    with pytest.raises(RuntimeError, match="needs command 12 of"):
        run([word for word in TILE.words() if word[0] != 12])


def test_an_error_inside_of_a_loop_names_both() -> None:
    setup = [config_st(16), *LOADS, (0, 1 << 16 | 4, 1 << 48)]
    words = [*setup, *tile(addresses=(BASE + 4000, BASE, 0, BASE))]
    pattern = r"address_out_of_range\] command 10 loop_ws\(0x0, 0x0\), in it mvin\(0x"
    with pytest.raises(RuntimeError, match=pattern):
        run_stream(CONFIG, pack(words), BASE, bytes(4096))
    with pytest.raises(RuntimeError, match=r"loop_ws.*in it mvin\(.*needs a config_ld"):
        run_stream(CONFIG, pack(TILE.words()), BASE, bytes(4096))


@pytest.mark.parametrize(
    ("feature", "words"),
    [
        ("has_loop_commands", TILE.words()),
        ("has_loop_commands", [(21, 0, 0)]),
        ("has_transpose", tile(transpose_b=True)),
        ("has_acc_full_width_store", tile(full_c=True)),
        ("has_pooling", conv(pool=(1, 1, 0))),
        ("has_first_layer_pixel_repeats", conv(pixels_per_row=3)),
    ],
)
def test_features_switched_off(feature: str, words: list[Words]) -> None:
    expand_loops(CONFIG, pack(words))
    config = CONFIG.replace(**{feature: False})
    with pytest.raises(
        RuntimeError, match=r"\[unsupported_command\] command \d+ loop_.*" + feature
    ):
        expand_loops(config, pack(words))


def test_fields_are_packed_without_overlap() -> None:
    assert pack_fields((1, 0), (3, 16), (5, 32)) == 0x0000000500030001
