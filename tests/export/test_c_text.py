"""Constants and names in C."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from native_kernels import COMPILER

from npu_target.export.c_text import Names, c_type, float_text, identifier, wrapped
from npu_target.export.errors import ExportError


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_is_the_same_one(value: float) -> None:
    text = float_text(value, "float32")
    assert text.endswith("f") and np.float32(text[:-1]) == np.float32(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_the_same_one(value: float) -> None:
    assert float(float_text(value, "float64")) == value


@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
def test_a_compiler_reads_them_so(tmp_path: Path) -> None:
    values = np.array([48.1060562, 1e-45, 3.4028235e38, 1e-12, 0.1, 127, -0.0, np.inf], "float32")
    texts = ", ".join(float_text(float(value), "float32") for value in values)
    source = f"#include <math.h>\n#include <stdio.h>\nfloat v[] = {{{texts}}};\n"
    source += "int main(void) { return fwrite(v, sizeof v, 1, stdout) != 1; }\n"
    (tmp_path / "v.c").write_text(source)
    assert COMPILER is not None
    subprocess.run([COMPILER, "v.c", "-o", "v"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "v"], capture_output=True).stdout == values.tobytes()


@given(st.lists(st.sampled_from(["x", "x_2", "x 2", "int", "1", "ж", ""])))
def test_names_are_names_and_each_is_one(texts: list[str]) -> None:
    names = Names()
    made = [names.fresh(text) for text in texts]
    assert len(set(made)) == len(made)
    assert all(name.isidentifier() and name.isascii() for name in made)


def test_a_word_of_c_is_no_name() -> None:
    assert identifier("int") == "_int" and identifier("ints") == "ints"


def test_a_type_that_c_has_not() -> None:
    with pytest.raises(ExportError, match="softmax: float16 has no type in C"):
        c_type("float16", "softmax")


@given(st.lists(st.lists(st.sampled_from(["f(a,", "x", "+", "1.5f"]), min_size=1), min_size=1))
def test_lines_are_broken_at_blanks_alone(words: list[list[str]]) -> None:
    text = "".join(f"  {' '.join(line)}\n" for line in words)
    lines = wrapped(text).splitlines()
    assert all(len(line) <= 100 and line.startswith("  ") for line in lines)
    assert " ".join(lines).split() == text.split()


def test_a_comment_stays_one_and_a_macro_is_one_line() -> None:
    comment = "  // " + "word " * 40
    assert all(line.startswith("  // ") for line in wrapped(comment).splitlines())
    assert wrapped(comment).count("\n") > 1
    assert wrapped("#define X " + "word " * 40).count("\n") == 1
