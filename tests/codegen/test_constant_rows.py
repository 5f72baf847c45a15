"""Rows of one value: each once, at places behind the arguments."""

from __future__ import annotations

from npu_target.codegen.constant_rows import ConstantRows


def test_each_value_has_one_row_in_the_order_in_which_they_are_asked_for():
    rows = ConstantRows(3, 4)
    assert rows.constants == ()
    assert [rows.argument(value) for value in (-128, 0, 5, -128)] == [3, 4, 5, 3]
    assert [(row.name, row.data) for row in rows.constants] == [
        ("row_of_minus_128", b"\x80\x80\x80\x80"),
        ("zeros", bytes(4)),
        ("row_of_5", b"\x05\x05\x05\x05"),
    ]
