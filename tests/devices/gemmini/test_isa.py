"""Commands: words of real streams, round trips, and the errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.device.commands import DeviceCommand, FieldSpec, IsaError
from npu_target.devices.gemmini import PRESETS, GemminiConfig, isa

CONFIG = GemminiConfig()
SCALES = st.floats(width=32, allow_nan=False, allow_infinity=False)
LOCALS = st.builds(isa.LocalAddress.decode, st.integers(0, 2**32 - 1))


def values_of(spec: FieldSpec) -> st.SearchStrategy[object]:
    if spec.kind == "parted":
        return LOCALS
    if spec.kind == "scale":
        return SCALES
    if spec.kind == "flag":
        return st.booleans()
    if spec.kind == "sint":
        return st.integers(-(2 ** (spec.width - 1)), 2 ** (spec.width - 1) - 1)
    return st.integers(0, 2**spec.width - 1)


@st.composite
def commands(draw: st.DrawFn) -> DeviceCommand:
    cls = draw(st.sampled_from(list(isa.COMMANDS.classes)))
    return cls(**{name: draw(values_of(spec)) for name, spec in cls.specs().items()})


@given(commands())
def test_decode_inverts_encode(command: DeviceCommand) -> None:
    assert isa.COMMANDS.decode(*command.encode()) == command


@given(st.sampled_from([cls.funct for cls in isa.COMMANDS.classes]), st.data())
def test_encode_inverts_decode_or_decode_refuses(funct: int, data: st.DataObject) -> None:
    rs1 = data.draw(st.integers(0, 2**64 - 1))
    rs2 = data.draw(st.integers(0, 2**64 - 1))
    try:
        command = isa.COMMANDS.decode(funct, rs1, rs2)
    except IsaError:
        return
    assert command.encode() == (funct, rs1, rs2)


@pytest.mark.parametrize("cls", isa.COMMANDS.classes, ids=lambda cls: cls.mnemonic)
def test_fields_do_not_overlap(cls: type[DeviceCommand]) -> None:
    used = {1: 0b11 if cls.funct == 0 else 0, 2: 0}
    for spec in cls.specs().values():
        assert used[spec.register] & spec.mask == 0, spec
        used[spec.register] |= spec.mask
        assert spec.low_bit + spec.width <= 64


# Words as real software issues them, each read off the hardware's own decoding.
ANYTHING: Any = 3
SPAD, ACC = isa.LocalAddress.spad, isa.LocalAddress.acc
KNOWN = [
    ((0, 0x3F80000000010004, 0x1000000000000), isa.ConfigEx()),
    (
        (0, 0x10304, 0x2000000000000),
        isa.ConfigEx(transpose_a=True, transpose_b=True, scale=0.0, c_stride=2),
    ),
    ((0, 0x0001008C, 0x1000000000007), isa.ConfigEx(True, 1, True, scale=0.0, shift=7)),
    ((0, 0x3F80000000100109, 0x40), isa.ConfigLd(64, 16, id=1)),
    ((0, 0x3F00000000400205, 0), isa.ConfigLd(0, 64, 0.5, shrunk=True, pixel_repeats=2)),
    ((0, 0x2, 0x3F80000000000040), isa.ConfigSt(64)),
    (
        (0, 0x70380E031C0005A6, 0x3E80000000000040),
        isa.ConfigSt(64, 0.25, 1, 2, 2, 1, 1, 28, 3, 14, 56, 112),
    ),
    ((0, 0xFFFFFFFE00060103, 0xFFFFFFFF00000005), isa.ConfigNorm(1, False, True, 1, -2, 5, -1)),
    ((2, 0x80065040, 0x10004000000000), isa.Mvin(0x80065040, SPAD(0), 64, 16)),
    ((1, 0x800852C0, 0x10001000002000), isa.Mvin2(0x800852C0, SPAD(0x2000), 16, 16)),
    ((14, 0, 0x3000580000010), isa.Mvin3(0, ACC(0x10), 5, 3)),
    ((3, 0x80005040, 0x100010A0000000), isa.Mvout(0x80005040, ACC(0, full_width=True), 16, 16)),
    (
        (6, 0x10001000002000, 0x100010C0000020),
        isa.Preload(SPAD(0x2000), 16, 16, ACC(0x20, accumulate=True), 16, 16),
    ),
    (
        (4, 0x7001000000000, 0x100010FFFFFFFF),
        isa.ComputePreloaded(SPAD(0), 16, 7, isa.GARBAGE, 16, 16),
    ),
    ((5, 0x100010, 0), isa.ComputeAccumulated(SPAD(0x100010), 0, 0, SPAD(0), 0, 0)),
    ((7, 1, 0), isa.Flush(skip=True)),
    ((126, 0x80005028, 7), isa.Counter(False, False, False, True, 2, 5, True, unused=7)),
    ((8, 0x50000, 0x2), isa.LoopWs(b_spad_id=1, a_spad_id=1, transpose_b=True)),
    ((9, 0x300020001, 0x600050004), isa.LoopWsBounds(4, 5, 6, 1, 2, 3)),
    ((13, 0x40, 0x100), isa.LoopWsStridesDC(0x40, 0x100)),
    (
        (15, 0x60301, 0x9),
        isa.LoopConvWs(no_bias=True, max_pixels_per_row=3, b_spad_id=2, a_spad_id=1,
                       no_pool=True, activation=1),
    ),
    (
        (16, 0x20001000E0001, 0x102000D0007000E),
        isa.LoopConvWsDims(1, 14, 1, 2, 14, 7, 13, 2, 1),
    ),
    (
        (19, 0x16000300801002, 0x3000100020017),
        isa.LoopConvWsBounds(2, 4, 4, 3, 22, 23, 2, 1, 3),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("words", "command"), KNOWN, ids=lambda value: str(value)[:20])
def test_known_words(words: tuple[int, int, int], command: DeviceCommand) -> None:
    assert command.encode() == words
    assert isa.COMMANDS.decode(*words) == command


def test_disassembly() -> None:
    lines = isa.COMMANDS.disassemble(words for words, _ in KNOWN[:16]).splitlines()
    assert lines[0] == (
        "config_ex  weight_stationary, activation=none, a_stride=1, scale=1, c_stride=1"
    )
    assert lines[3] == "config_ld  stride_bytes=64, block_stride=16, scale=1, id=1, pixel_repeats=1"
    assert lines[8] == "mvin  0x80065040 -> spad[0x0], 64 cols, 16 rows"
    assert lines[11] == "mvout  acc.full[0x0] -> 0x80005040, 16 cols, 16 rows"
    assert lines[12] == "preload  BD spad[0x2000] 16x16, C acc.add[0x20] 16x16"
    assert lines[13] == "compute_preloaded  A spad[0x0] 7x16, BD garbage 16x16"
    assert lines[15] == "flush  skip"


def test_disassembly_shows_what_it_cannot_decode() -> None:
    text = isa.COMMANDS.disassemble([(99, 1, 2), (7, 2, 0)])
    assert text.splitlines() == [
        "raw  funct 99, rs1 0x1, rs2 0x2  # funct is 99, the device has no such command",
        "raw  funct 7, rs1 0x2, rs2 0x0  # flush: rs1 is 0x2, needs the reserved bits 0x2 to be 0",
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: isa.Mvin(0, SPAD(0), 2**16, 1), "mvin: cols is 65536, needs 0 to 65535"),
        (lambda: isa.Mvin(-1, SPAD(0), 1, 1), "mvin: dram_address is -1, needs 0 to"),
        (lambda: isa.Mvin(0, ANYTHING, 1, 1), "mvin: local is 3, needs a LocalAddress"),
        (lambda: isa.Mvin(0, SPAD(0), ANYTHING / 2, 1), "mvin: cols is 1.5, needs an int"),
        (lambda: isa.ConfigLd(64, 16, scale=1e39), "config_ld: scale is 1e[+]39, needs a finite"),
        (lambda: isa.ConfigLd(64, 16, scale=float("nan")), "scale is nan, needs a finite"),
        (
            lambda: isa.ConfigLd(64, 16, shrunk=ANYTHING),
            "config_ld: shrunk is 3, needs True or False",
        ),
        (lambda: isa.LocalAddress(2**26), "row is 67108864, needs 0 to 67108863"),
        (lambda: isa.COMMANDS.decode(7, 2**64, 0), "rs1 is 0x10000000000000000, needs 64 bits"),
        (lambda: isa.mvin_class(3), "mvin: id is 3, needs 0 to 2"),
    ],
)
def test_what_the_bits_cannot_hold(make: Callable[[], object], message: str) -> None:
    with pytest.raises(IsaError, match=message):
        make()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (isa.Mvin(0, SPAD(0), 65, 1), "mvin: cols is 65, needs 1 to 64 on gemmini-16x16"),
        (isa.Mvin(0, SPAD(0), 0, 1), "mvin: cols is 0, needs 1 to 64"),
        (isa.Mvin(0, SPAD(0), 1, 17), "mvin: rows is 17, needs 1 to 16"),
        (isa.Mvin(0, SPAD(0x4000), 1, 1), r"spad\[0x4000\], needs a row of 0x0 to 0x3fff"),
        (isa.Mvin(0, ACC(1024), 1, 1), r"acc\[0x400\], needs a row of 0x0 to 0x3ff"),
        (isa.Mvin(0, isa.GARBAGE, 1, 1), "mvin: local is garbage, needs a row"),
        (isa.ComputePreloaded(isa.GARBAGE, 16, 16, SPAD(0), 16, 16), "a is garbage"),
        (isa.Preload(ACC(0), 16, 16, ACC(0), 16, 16), "preload: bd is acc.*scratchpad row"),
        (isa.ConfigLd(0, 16, id=3), "config_ld: id is 3, needs 0 to 2"),
        (isa.ConfigLd(0, 16, pixel_repeats=17), "pixel_repeats is 17, needs 0 to 16"),
        (isa.ConfigEx(transpose_a=True, transpose_b=True), "transpose_a and transpose_b"),
        (isa.ConfigEx(shift=32), "config_ex: shift is 32, needs 0 to 31"),
        (isa.ConfigSt(0, pool_stride=1), "config_st: pool_size is 0, needs at least 1"),
    ],
)
def test_what_the_device_cannot_do(command: DeviceCommand, message: str) -> None:
    with pytest.raises(IsaError, match=message):
        command.validate(CONFIG)


@pytest.mark.parametrize(
    ("feature", "command"),
    [
        ("has_transpose", isa.ConfigEx(transpose_b=True)),
        ("has_output_stationary", isa.ConfigEx(weight_stationary=False)),
        ("has_weight_stationary", isa.ConfigEx()),
        ("has_mvin_scale", isa.ConfigLd(0, 16, 0.5)),
        ("has_first_layer_pixel_repeats", isa.ConfigLd(0, 16, pixel_repeats=2)),
        ("has_pooling", isa.ConfigSt(0, 1.0, 0, 1, 2, 0, 0, 8, 8, 8, 9, 9)),
        ("has_acc_full_width_store", isa.Mvout(0, ACC(0, full_width=True), 16, 16)),
        ("has_loop_commands", isa.LoopWs()),
    ],
)
def test_features_of_the_device(feature: str, command: DeviceCommand) -> None:
    command.validate(CONFIG)
    with pytest.raises(IsaError, match=f"needs {feature}, gemmini-16x16 has it off"):
        command.validate(CONFIG.replace(**{feature: False}))


@pytest.mark.parametrize("config", PRESETS, ids=lambda config: config.name)
def test_limits_follow_the_device(config: GemminiConfig) -> None:
    whole = isa.Mvin(0, SPAD(config.spad_rows - 1), config.mvin_max_cols, config.dim)
    whole.validate(config)
    changes: list[dict[str, Any]] = [{"cols": config.mvin_max_cols + 1}, {"rows": config.dim + 1}]
    for change in changes:
        with pytest.raises(IsaError):
            dataclasses.replace(whole, **change).validate(config)


def test_scales_are_float32() -> None:
    assert isa.ConfigSt(16, 0.1) == isa.ConfigSt(16, 0.10000000149011612)
    assert isa.LocalAddress.decode(0xFFFFFFFF).is_garbage
    assert not isa.LocalAddress.decode(0xFFFFFFFE).is_garbage
