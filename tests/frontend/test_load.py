"""What is no file of a network is refused."""

import subprocess
import sys
from pathlib import Path

import pytest

from npu_target.frontend import SUFFIXES, FrontendError, load


def test_an_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(FrontendError, match="ends in one of"):
        load(tmp_path / "net.docx")
    with pytest.raises(FrontendError, match="ends in one of"):
        load("net.docx")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_not_there_is_refused(suffix):
    with pytest.raises(FrontendError, match=rf"gone\{suffix} is not there"):
        load(Path(f"gone{suffix}"))


def test_without_onnx_it_is_said_what_to_install(tmp_path):
    """In a process of its own: TVM's importer needs the package when it is imported."""
    (tmp_path / "net.onnx").write_bytes(b"")
    script = (
        "import sys\n"
        "sys.modules['onnx'] = None\n"
        "from npu_target.frontend import FrontendError, load\n"
        "try:\n"
        "    load(sys.argv[1])\n"
        "except FrontendError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "net.onnx")],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == (
        f"{tmp_path}/net.onnx: .onnx files need the package onnx: pip install 'npu_target[onnx]'\n"
    ), done.stderr
