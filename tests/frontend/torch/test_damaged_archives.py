"""Exported programs with bits flipped or an end cut off: a message, or a network."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

from torch_archives import MODEL, WEIGHTS, changed

from npu_target.frontend import FrontendError, Imported, load


def check(path):
    """A message, or a network that has its parts."""
    try:
        net = load(path)
    except FrontendError as error:
        assert str(error).startswith(str(path))
        return False
    assert isinstance(net, Imported)
    return True


def damage(data, content):
    content = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    return bytes(content)


def check_damaged_file(file, data):
    path = file.parent / "damaged.pt2"
    path.write_bytes(damage(data, file.read_bytes()))
    check(path)


def check_damaged_document(file, data, name):
    """Damage that checksums do not show."""

    def change(entries):
        entries[name] = damage(data, entries[name])

    check(changed(file, file.parent, change))


QUICK = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LONG = settings(QUICK, max_examples=50_000)


@QUICK
@given(data=st.data())
def test_damaged_files(file, data):
    check_damaged_file(file, data)


@QUICK
@given(data=st.data())
@pytest.mark.parametrize("name", [MODEL, WEIGHTS])
def test_damaged_documents(file, data, name):
    check_damaged_document(file, data, name)


@QUICK
@given(data=st.data())
def test_damaged_quantized_documents(quantized_file, data):
    check_damaged_document(quantized_file, data, MODEL)


@pytest.mark.slow
@LONG
@given(data=st.data())
def test_many_damaged_files(file, data):
    check_damaged_file(file, data)


@pytest.mark.slow
@LONG
@given(data=st.data())
def test_many_damaged_documents(file, data):
    check_damaged_document(file, data, data.draw(st.sampled_from([MODEL, WEIGHTS])))
