"""Files that are damaged; what still imports has to compute what the file's framework does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from framework_process import Framework
from tvm_ffi import structural_equal

from npu_target.frontend import FrontendError, Imported, load
from npu_target.host import build_host, run_host

_MOST_INPUT_ELEMENTS = 1 << 20
# Of floats: apart by this share of the largest; what is larger than this may overflow.
_CLOSE, _LARGE = 1e-4, 1e30


def damaged(content: bytes, random: np.random.Generator) -> bytes:
    """The content with a part cut off, or one to three bytes changed, by a bit or altogether."""
    if random.integers(4) == 0:
        return content[: random.integers(len(content))]
    changed = bytearray(content)
    for _ in range(random.integers(1, 4)):
        at = int(random.integers(len(changed)))
        changed[at] = random.choice(
            [changed[at] ^ 1 << random.integers(8), 0, 255, 128, random.integers(256)]
        )
    return bytes(changed)


def damage(contents: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    """So many damaged files, of each content in turn."""
    random = np.random.default_rng(seed)
    for index in range(count):
        yield damaged(contents[index % len(contents)], random)


def check_values(path: Path, contents: Sequence[bytes], count: int, seed: int) -> None:
    """Damage files until so many are networks here and for their framework, and require the same
    numbers of both.

    path : the file that is written; its suffix says which framework.
    """
    random = np.random.default_rng(seed)
    whole = [_Whole(path, content, seed) for content in contents]
    compared = 0
    with Framework(path.suffix[1:]) as framework:
        for one in whole:
            _compare(one.found, framework.run(one.content, one.inputs) or [], "the whole file")
        for index in range(50 * count):
            one = whole[index % len(whole)]
            content = damaged(one.content, random)
            path.write_bytes(content)
            try:
                network = load(path)
            except FrontendError:
                continue
            if _size(network) > _MOST_INPUT_ELEMENTS:
                continue
            inputs = _inputs(network, seed)
            wanted = framework.run(content, inputs)
            if wanted is None:
                continue
            _compare(one.outputs(network, inputs), wanted, f"damaged file {index} of seed {seed}")
            compared += 1
            if compared == count:
                return
    raise AssertionError(f"{compared} files were networks, {count} are wanted")


class _Whole:
    """A file as it should be, and what it computes."""

    def __init__(self, path: Path, content: bytes, seed: int) -> None:
        self.content = content
        path.write_bytes(content)
        self._network = load(path)
        self.inputs = _inputs(self._network, seed)
        self.found = run_host(build_host(self._network.mod), *self.inputs)

    def outputs(self, network: Imported, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Those of a network, which is compiled if it is another one than this."""
        same = structural_equal(network.mod, self._network.mod)
        return self.found if same else run_host(build_host(network.mod), *inputs)


def _size(network: Imported) -> int:
    return sum(int(np.prod(info.shape)) for info in network.inputs)


def _inputs(network: Imported, seed: int) -> list[np.ndarray]:
    """Values over the whole range of each input."""
    random = np.random.default_rng(seed)
    made = []
    for info in network.inputs:
        dtype = np.dtype(info.dtype)
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            made.append(random.integers(limits.min, limits.max, info.shape, dtype, endpoint=True))
        else:
            made.append(random.normal(0, 3, info.shape).astype(dtype))
    return made


def _compare(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray], which: str) -> None:
    """Integers are equal, floats near."""
    assert len(found) == len(wanted), which
    for ours, theirs in zip(found, wanted, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), which
        if ours.dtype.kind != "f":
            np.testing.assert_array_equal(ours, theirs, which)
            continue
        largest = np.abs(theirs).max(initial=0)
        if largest < _LARGE:
            np.testing.assert_allclose(ours, theirs, 0, _CLOSE * max(largest, _CLOSE), which)
