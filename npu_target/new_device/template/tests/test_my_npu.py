"""What is this device's own; `pytest --pyargs npu_target.conformance` has the rest."""

from my_npu.commands import Multiply


def test_a_command_reads_as_its_fields() -> None:
    command = Multiply(vector=32, matrix=16, to=8, rows=4, step=1)
    assert str(command) == "multiply  vector=32, matrix=16, to=8, rows=4, step=1"
    assert command.encode() == (0, 4 | 32 << 4 | 16 << 20 | 8 << 36, 4 | 1 << 8)
