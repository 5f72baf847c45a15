"""Wrong commands: one typed error that names the command, what it needs and what there is."""

from __future__ import annotations

import re

import pytest
from device_api.streams import (
    ACC,
    ACCUMULATE,
    BASE,
    FULL_WIDTH,
    MEMORY_BYTES,
    SMALL,
    Words,
    config_ex,
    config_ld,
    config_st,
    local,
    pack,
)
from reference.device import GARBAGE

from npu_target.device_api import check_config, run_stream, validate_program
from npu_target.devices.gemmini import GemminiConfig

GARBAGE_TILE = local(GARBAGE, 16, 16)
PRELOAD_ZERO = (6, GARBAGE_TILE, local(ACC, 16, 16))
LD, ST, EX = config_ld(16), config_st(16), config_ex()


def run(commands: list[Words], config: GemminiConfig = SMALL) -> None:
    run_stream(config, pack(commands), BASE, bytes(MEMORY_BYTES))


# The last command of each stream is the one at fault.
CASES: list[tuple[str, list[Words], str]] = [
    ("undefined_configuration", [(2, BASE, local(0, 1, 1))], "needs a config_ld[0]"),
    ("undefined_configuration", [LD, (1, BASE, local(0, 1, 1))], "needs a config_ld[1]"),
    ("undefined_configuration", [(3, BASE, local(0, 1, 1))], "needs a config_st"),
    ("undefined_configuration", [PRELOAD_ZERO], "needs a config_ex"),
    ("undefined_configuration", [(0, 1 << 7, 0), PRELOAD_ZERO], "has only one that sets strides"),
    ("undefined_configuration", [EX, (4, local(0, 1, 1), GARBAGE_TILE)], "needs a preload"),
    (
        "undefined_configuration",
        [EX, PRELOAD_ZERO, (5, local(0, 1, 1), GARBAGE_TILE)],
        "needs a compute_preloaded before it",
    ),
    (
        "undefined_configuration",
        [(0, 2, 0xFFFFFFFF << 32 | 16), (3, BASE, local(ACC, 1, 1))],
        "needs a config_st with a scale",
    ),
    ("garbage_operand", [EX, PRELOAD_ZERO, (4, GARBAGE_TILE, GARBAGE_TILE)], "needs an A"),
    ("garbage_operand", [LD, (2, BASE, GARBAGE_TILE)], "has garbage"),
    ("garbage_operand", [ST, (3, BASE, GARBAGE_TILE)], "has garbage"),
    (
        "unsupported_command",
        [config_ld(16, shrunk=True), (2, 0, local(ACC, 1, 1))],
        "needs 4 bytes an element for zeros into the accumulator",
    ),
    ("unsupported_command", [config_ex(transpose_a=True, transpose_b=True)], "at most one"),
    ("unsupported_command", [config_ex(is_ws=False, transpose_b=True)], "has B alone"),
    ("unsupported_command", [(0, 2 << 3 | 4, 0)], "needs activation 0 (none) or 1 (ReLU), has 2"),
    ("unsupported_command", [EX, (6, local(ACC, 1, 1), GARBAGE_TILE)], "in the scratchpad"),
    ("unsupported_command", [EX, PRELOAD_ZERO, PRELOAD_ZERO], "needs a compute after the preload"),
    (
        "unsupported_command",
        [config_st(16, pool=(1, 3, 1, 1, 62, 62, 62, 62, 62)), (3, BASE, local(0, 0, 16))],
        "needs at most 32767 elements in all windows of a pooled store, has 34596",
    ),
    (
        "unsupported_command",
        [LD, (2, BASE + 2, local(ACCUMULATE, 1, 4))],
        "needs rows at multiples of 4 bytes, where they are added to sums",
    ),
    (
        "unsupported_command",
        [config_ld(18), (2, BASE, local(ACCUMULATE, 2, 4))],
        "on, 18 bytes apart",
    ),
    ("unsupported_command", [EX, PRELOAD_ZERO, EX], "needs a compute after the preload before it"),
    (
        "unsupported_command",
        [EX, PRELOAD_ZERO, (0, 1 << 16 | 1 << 7, 1 << 48)],
        "needs a compute after the preload before it",
    ),
    (
        "unsupported_command",
        [EX, (6, local(0, 16, 16), local(ACC, 16, 16)), (4, local(0, 5, 16), GARBAGE_TILE)],
        "needs an A or D with the rows of its result, has 5 of the 16 of acc 0x0",
    ),
    (
        "unsupported_command",
        [config_ex(c_stride=0), (6, local(0, 16, 16), local(ACCUMULATE, 2, 16))],
        "needs a C stride of at least 1 to add 2 rows, has 0",
    ),
    (
        "unsupported_command",
        [config_ex(is_ws=False, c_stride=2), (6, GARBAGE_TILE, local(ACC, 1, 16))],
        "needs a C stride of 1 in the output-stationary dataflow, has 2",
    ),
    (
        "undefined_configuration",
        [
            config_ex(is_ws=False),
            (6, GARBAGE_TILE, local(ACC, 16, 16)),
            (4, local(0, 16, 16), local(16, 16, 16)),
            (6, GARBAGE_TILE, local(ACC | 16, 16, 16)),
            (5, local(0, 16, 16), local(16, 16, 16)),
        ],
        "no output-stationary result since",
    ),
    (
        "garbage_operand",
        [EX, (6, GARBAGE_TILE, local(ACC, 16, 16)), (4, local(0, 16, 16), GARBAGE_TILE)],
        "needs a B of the preload before it to take over, has garbage",
    ),
    ("unsupported_command", [EX, (6, local(0, 17, 1), GARBAGE_TILE)], "at most 16 rows and cols"),
    ("unsupported_command", [LD, (2, BASE, local(0, 0, 16))], "has 0 and 16"),
    ("unsupported_command", [LD, (2, BASE, local(0, 1, 65))], "1 to 64 cols, has 1 and 65"),
    ("unsupported_command", [LD, (2, BASE, local(ACC, 1, 17))], "1 to 16 cols, has 1 and 17"),
    ("unsupported_command", [config_ld(16, load_id=3)], "needs a load id of 0 to 2"),
    (
        "unsupported_command",
        [config_ld(16, block_stride=1), (2, BASE, local(0, 2, 17))],
        "needs a block stride of at least its rows",
    ),
    (
        "unsupported_command",
        [config_ld(16, repeats=2), (2, BASE, local(ACC, 1, 1))],
        "needs the scratchpad for pixel repeats",
    ),
    (
        "unsupported_command",
        [config_ld(16, repeats=3), (2, BASE, local(0, 1, 6))],
        "at most 16, has 3 x 6",
    ),
    (
        "unsupported_command",
        [ST, (3, BASE, local(FULL_WIDTH, 1, 17))],
        "1 to 16 cols, has 1 and 17",
    ),
    (
        "unsupported_command",
        [config_st(16, pool=(1, 0, 0, 0, 1, 1, 1, 1, 1))],
        "needs a pool window",
    ),
    ("undefined_configuration", [(8, 0, 0)], "needs command 9 of loop_ws before it"),
    ("unsupported_command", [(0, 3, 0)], "normalizations"),
    ("unsupported_command", [(100, 0, 0)], "has 100"),
    ("address_out_of_range", [LD, (2, BASE - 1, local(0, 1, 1))], "needs 1 B of DRAM at"),
    (
        "address_out_of_range",
        [LD, (2, BASE + MEMORY_BYTES - 16, local(0, 2, 16))],
        "(row 1)",
    ),
    ("address_out_of_range", [LD, (2, BASE, local(128, 1, 1))], "scratchpad, has 128 rows"),
    ("address_out_of_range", [LD, (2, BASE, local(ACC | 128, 1, 1))], "accumulator, has 128 rows"),
    ("address_out_of_range", [LD, (2, BASE, local(1 << 30, 1, 1))], "needs bit 31"),
    ("address_out_of_range", [ST, (3, BASE + MEMORY_BYTES, local(0, 1, 1))], "needs 1 B of DRAM"),
    ("address_out_of_range", [EX, (6, local(113, 16, 1), GARBAGE_TILE)], "rows 113 to 128"),
    (
        "address_out_of_range",
        [EX, (6, GARBAGE_TILE, local(ACC | 120, 9, 1))],
        "rows 120 to 128 of the accumulator",
    ),
]


@pytest.mark.parametrize(("kind", "commands", "text"), CASES)
def test_refused(kind: str, commands: list[Words], text: str) -> None:
    run(commands[:-1])
    start = rf"^NpuDeviceError \[{kind}\] command {len(commands) - 1} [a-z_0-9 \[\]]+\("
    with pytest.raises(RuntimeError, match=start) as caught:
        run(commands)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("feature", "command"),
    [
        ("has_transpose", config_ex(transpose_a=True)),
        ("has_output_stationary", config_ex(is_ws=False)),
        ("has_weight_stationary", EX),
        ("has_first_layer_pixel_repeats", config_ld(16, repeats=2)),
        ("has_mvin_scale", config_ld(16, scale=0.5)),
        ("has_pooling", config_st(16, pool=(1, 1, 0, 0, 1, 1, 1, 1, 1))),
    ],
)
def test_features_switched_off(feature: str, command: Words) -> None:
    run([command])
    with pytest.raises(RuntimeError, match=r"\[unsupported_command\] command 0 config_"):
        run([command], SMALL.replace(**{feature: False}))


def test_without_scaled_loads_both_identities_are_none() -> None:
    device = SMALL.replace(has_mvin_scale=False)
    load = (2, BASE, local(0, 4, 1))
    for scale in (0.0, 1.0):
        run([config_ld(16, scale=scale), load], device)


def test_full_width_store_switched_off() -> None:
    commands = [ST, (3, BASE, local(FULL_WIDTH, 1, 1))]
    run(commands)
    with pytest.raises(RuntimeError, match=r"command 1 mvout.*has_acc_full_width_store"):
        run(commands, SMALL.replace(has_acc_full_width_store=False))


def test_bad_streams_and_configs() -> None:
    numbers = SMALL.numbers()
    with pytest.raises(RuntimeError, match=r"\[bad_program\] command stream, byte 0: needs 8 B"):
        run_stream(SMALL, b"1234567", BASE, bytes(16))
    with pytest.raises(RuntimeError, match=r"\[bad_program\].*funct of 0 to 127, has 128"):
        run_stream(SMALL, pack([(128, 0, 0)]), BASE, bytes(16))
    with pytest.raises(RuntimeError, match=r"\[bad_program\] memory 'spad': needs 2048 B, has 3"):
        run_stream(SMALL, b"", BASE, bytes(16), {"spad": b"abc"})
    with pytest.raises(RuntimeError, match=r"\[bad_program\] memory 'disk': needs a memory of the"):
        run_stream(SMALL, b"", BASE, bytes(16), {"disk": b"abc"})
    with pytest.raises(RuntimeError, match=r"\[bad_program\].*holds address 0"):
        run_stream(SMALL, b"", 0, bytes(16))
    missing = {name: value for name, value in numbers.items() if name != "dim"}
    with pytest.raises(RuntimeError, match=r"\[bad_program\].*'dim' is missing"):
        check_config("gemmini", missing)
    with pytest.raises(RuntimeError, match=r"\[bad_program\].*unknown field 'colour'"):
        check_config("gemmini", {**numbers, "colour": 1})
    with pytest.raises(RuntimeError, match=re.escape("needs a program file")):
        validate_program(b"something else")
