"""Constants out of C headers."""

from __future__ import annotations

import pytest

from npu_target.devices.gemmini.c_header import CHeader, CHeaderError

HEADER = CHeader.parse(
    """
#ifndef X_H
#define X_H
#define DIM 16 // side
#  define HEX 0x10UL
#define ROWS (DIM*4 /* four */ - \\
    2)
#define SHIFTED ((1 << 10) >> 1)
#define RATIO (ROWS/DIM + ROWS % DIM)
#define NEGATIVE -3
#define FLAG
#define CALL(x) ((x) + 1)
#define TEXT "16"
#define FLOAT 1.0
#define SELF SELF
#define UNKNOWN NOWHERE
// #define COMMENTED 1
/* #define COMMENTED2 1
*/
typedef int8_t elem_t;
typedef unsigned  long word_t ;
"""
)


@pytest.mark.parametrize(
    ("name", "value"),
    [("DIM", 16), ("HEX", 16), ("ROWS", 62), ("SHIFTED", 512), ("RATIO", 17), ("NEGATIVE", -3)],
)
def test_integers(name: str, value: int) -> None:
    assert HEADER.integer(name) == value


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("MISSING", "no `#define MISSING`"),
        ("COMMENTED", "no `#define COMMENTED`"),
        ("COMMENTED2", "no `#define COMMENTED2`"),
        ("FLAG", "`#define FLAG ` is not an integer"),
        ("CALL", "no `#define CALL`"),
        ("TEXT", "is not an integer"),
        ("FLOAT", "is not an integer"),
        ("SELF", "refers to itself"),
        ("UNKNOWN", "no `#define NOWHERE`"),
    ],
)
def test_what_is_no_integer(name: str, message: str) -> None:
    with pytest.raises(CHeaderError, match=message):
        HEADER.integer(name)


def test_flags_and_types() -> None:
    assert HEADER.defines("FLAG")
    assert not HEADER.defines("COMMENTED")
    assert HEADER.typedef("elem_t") == "int8_t"
    assert HEADER.typedef("word_t") == "unsigned long"
    with pytest.raises(CHeaderError, match=r"no `typedef \.\.\. acc_t;`"):
        HEADER.typedef("acc_t")


def test_windows_line_ends() -> None:
    assert CHeader.parse("#define A \\\r\n 3\r\n#define B 4\r\n").macros == {"A": "3", "B": "4"}
