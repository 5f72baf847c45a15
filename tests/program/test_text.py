"""The disassembly of programs."""

from __future__ import annotations

from hypothesis import given
from program_strategies import programs

from npu_target.devices.gemmini import GemminiConfig, isa
from npu_target.program import (
    Arg,
    Command,
    Loop,
    Operand,
    Program,
    const,
    device_command,
    eq,
    logical_and,
    lt,
    minimum,
    nodes_of,
    select,
    var,
)

SPAD, ACC = isa.LocalAddress.spad, isa.LocalAddress.acc
i, j, k = var(0), var(1), var(2)

PROGRAM = Program(
    "conv2d",
    GemminiConfig(),
    (Arg("x", "input", "int8", (1, 56, 64)), Arg("y", "output", "int8", (1, 56, 64))),
    (
        device_command(isa.ConfigEx),
        device_command(isa.ConfigLd, stride_bytes=64, block_stride=16, id=1),
        Loop(0, const(4), (
            Loop(1, minimum(4, 10 - 2 * i), (
                device_command(
                    isa.Mvin2,
                    dram_address=Operand.argument(0, 64 * i, 0x10),
                    local=(SPAD(0x20), 16 * j),
                    cols=16,
                    rows=minimum(16, 100 - 16 * j),
                ),
                Loop(2, logical_and(lt(i, 3), eq(j % 2, 0)), (
                    device_command(
                        isa.Preload,
                        bd=(SPAD(0x2000), -16 * j), bd_cols=16, bd_rows=16,
                        c=(ACC(0), 16 * j, lt(0, i) * (1 << 30)), c_cols=16, c_rows=100 - 16 * i,
                    ),
                )),
                device_command(
                    isa.ComputePreloaded,
                    a=(SPAD(48), (i - j) * 16), a_cols=16, a_rows=16,
                    bd=isa.GARBAGE, bd_cols=16, bd_rows=16,
                ),
                device_command(
                    isa.Mvout,
                    dram_address=Operand.argument(1, -64 * i, (i // 3) * 5, -minimum(i, j)),
                    local=(ACC(0), 16 * j - 16),
                    cols=select(lt(j, 2), 16, 4),
                    rows=16,
                ),
            )),
        )),
        device_command(isa.Mvin, dram_address=0, local=ACC(0, accumulate=True), cols=16, rows=16),
        Command(99, Operand.of(3), Operand.argument(0)),
    ),
)  # fmt: skip

TEXT = f"""\
program conv2d for gemmini-16x16 ({GemminiConfig().hash})
  input x: int8[1, 56, 64]
  output y: int8[1, 56, 64]
body
  config_ex  weight_stationary, activation=none, a_stride=1, scale=1, c_stride=1
  config_ld  stride_bytes=64, block_stride=16, scale=1, id=1, pixel_repeats=1
  for i0 in 0..4:
    for i1 in 0..min(4, 10 - 2*i0):
      mvin2  x + 64*i0 + 0x10 -> spad[16*i1 + 0x20], 16 cols, min(16, 100 - 16*i1) rows
      if i0 < 3 and i1 % 2 == 0:  # i2
        preload  BD spad[0x2000 - 16*i1] 16x16, \
C acc[16*i1; accumulate=(0 < i0)] (100 - 16*i0)x16
      compute_preloaded  A spad[16*i0 - 16*i1 + 0x30] 16x16, BD garbage 16x16
      mvout  acc[16*i1 - 0x10] -> y - 64*i0 + 5*(i0 // 3) - min(i0, i1), \
select(i1 < 2, 16, 4) cols, 16 rows
  mvin  0x0 -> acc.add[0x0], 16 cols, 16 rows
  raw  funct 99, rs1 0x3, rs2 x"""


def test_golden() -> None:
    assert str(PROGRAM) == TEXT


@given(programs(with_constants=True))
def test_every_program_has_a_line_for_every_node(program: Program) -> None:
    nodes = sum(1 for _ in nodes_of(program.body))
    lines = str(program).splitlines()
    assert len(lines) == 2 + len(program.places) + nodes


def test_fields_that_leave_their_bits_are_shown_raw() -> None:
    """A running reserved bit, a running kind of configuration, an address in a narrow field."""
    body = (
        Command(7, Operand.of(2 * i), Operand()),
        Command(0, Operand.of(i), Operand()),
        Command(2, Operand(), Operand.argument(0)),
    )
    args = (Arg("x", "input", "int8", (1,)),)
    text = str(Program("odd", GemminiConfig(), args, (Loop(0, const(2), body),)))
    assert text.splitlines()[-3:] == [
        "    raw  funct 7, rs1 2*i0, rs2 0x0",
        "    raw  funct 0, rs1 i0, rs2 0x0",
        "    raw  funct 2, rs1 0x0, rs2 x",
    ]


def test_addresses_in_units_and_in_fields() -> None:
    body = (
        Command(2, Operand.argument(0, 2, unit=4), Operand()),
        Command(2, Operand(), Operand.argument(0, 2, unit=4) * 2**32),
        Command(2, Operand(), Operand.argument(0, unit=4) * 2**33),
    )
    args = (Arg("x", "input", "int8", (64,)),)
    text = str(Program("units", GemminiConfig(), args, body))
    assert [line.strip() for line in text.splitlines()[-3:]] == [
        "mvin  x/16 + 0x2 -> spad[0x0], 0 cols, 0 rows",
        "mvin  0x0 -> spad[0x0], (x/16 + 2) cols, 0 rows",
        "raw  funct 2, rs1 0x0, rs2 (x/16 << 33)",
    ]


def test_precedence() -> None:
    def text(value: object) -> str:
        command = Command(99, Operand(0, None, (), ((1, value),)), Operand())
        loops = Loop(0, const(1), (Loop(1, const(1), (Loop(2, const(1), (command,)),)),))
        line = str(Program("p", GemminiConfig(), (), (loops,))).splitlines()[-1]
        return line.split("rs1 ")[1].split(", rs2")[0]

    assert text((i - (j - k)) // 3) == "(i0 - (i1 - i2)) // 3"
    assert text(((i - j) - k) * k) == "(i0 - i1 - i2)*i2"
    assert text(lt(lt(i, j), k)) == "((i0 < i1) < i2)"
    assert text(i * (j * k)) == "i0*(i1*i2)"
    assert text((i + -5) % 4) == "(i0 + (-5)) % 4"
