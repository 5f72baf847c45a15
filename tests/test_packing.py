"""Packed layouts: every element lies in one place, and what is in a load is beside each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.packing import Packing, TileLoop, packed

DIM = 4


@st.composite
def layouts(draw) -> Packing:
    """Weights ``[kernel, in, out]``, tiles of some blocks of each, in any order."""
    kernel = draw(st.integers(1, 3))
    shape = (kernel, draw(st.integers(1, 30)), draw(st.integers(1, 30)))
    outer = [
        TileLoop(0, 1, draw(st.integers(1, kernel))),
        TileLoop(1, DIM, draw(st.integers(1, 4))),
        TileLoop(2, DIM, draw(st.integers(1, 4))),
    ]
    order = draw(st.permutations([loop for loop in outer if loop.extent > 1]))
    return Packing(
        shape, (*order, TileLoop(1, 1, DIM), TileLoop(2, 1, DIM)), draw(st.integers(1, 4))
    )


@given(layouts())
def test_every_element_lies_in_one_place_and_the_rest_is_zero(packing):
    array = np.arange(1, np.prod(packing.shape) + 1, dtype=np.int32).reshape(packing.shape)
    result = packing.pack(array)
    assert result.shape == packing.packed_shape
    found = result[result != 0]
    np.testing.assert_array_equal(np.sort(found), array.ravel())


@given(layouts())
def test_blocks_may_be_transposed(packing):
    array = np.arange(1, np.prod(packing.shape) + 1, dtype=np.int32).reshape(packing.shape)
    packing = replace(packing, blocks=1)
    transposed = replace(packing, transposed=True)
    blocks = packing.pack(array).reshape(-1, DIM, DIM)
    np.testing.assert_array_equal(
        transposed.pack(array).reshape(-1, DIM, DIM), blocks.swapaxes(1, 2)
    )
    assert Packing.from_json(transposed.to_json()) == transposed != packing


@given(layouts())
def test_a_tile_lies_in_the_order_of_its_rows(packing):
    """Against the definition, element by element."""
    array = np.arange(1, np.prod(packing.shape) + 1, dtype=np.int32).reshape(packing.shape)
    result = packing.pack(array)
    tile_elements = packing.tile_loads * packing.load_elements
    extents = [loop.extent for loop in packing.loops]
    tile_numbers = (packing.tiles[2], packing.tiles[0], packing.tiles[1])
    for number, (out, kernel, depth) in enumerate(np.ndindex(*tile_numbers)):
        first = (kernel, depth, out)
        for place in np.ndindex(*extents):
            index = [tile * span for tile, span in zip(first, packing.spans, strict=True)]
            for loop, at in zip(packing.loops, place, strict=True):
                index[loop.dimension] += loop.step * at
            block = int(np.ravel_multi_index((*place[:-2], 0), (*extents[:-2], 1)))
            load, in_load = divmod(block, packing.blocks)
            line = load * DIM + place[-2]
            at = number * tile_elements + (line * packing.blocks + in_load) * DIM + place[-1]
            inside = all(i < n for i, n in zip(index, packing.shape, strict=True))
            assert result[at] == (array[tuple(index)] if inside else 0)


def test_four_blocks_share_lines():
    packing = Packing((8, 8), (TileLoop(1, 4, 2), TileLoop(0, 4, 2), *_block()), 4)
    array = np.arange(64, dtype=np.int8).reshape(8, 8)
    blocks = [array[i : i + 4, j : j + 4] for j in (0, 4) for i in (0, 4)]
    np.testing.assert_array_equal(packing.pack(array).reshape(4, 16), np.hstack(blocks))


def test_the_last_load_of_a_tile_is_padded():
    packing = Packing((12, 4), (TileLoop(0, 4, 3), *_block()), 2)
    assert packing.packed_shape == (2 * 2 * 16,)
    result = packing.pack(np.ones((12, 4), np.int8)).reshape(2, 4, 8)
    assert result[0].all() and result[1, :, :4].all() and not result[1, :, 4:].any()


def test_an_array_of_another_shape_is_refused():
    packing = Packing((8, 4), _block(), 1)
    with pytest.raises(ValueError, match=r"is of shape \(8, 4\), the array's is \(4, 8\)"):
        packing.pack(np.zeros((4, 8), np.int8))


@given(layouts())
def test_text_and_back(packing):
    assert Packing.from_json(packing.to_json()) == packing


def test_other_arrays_stay_as_they_are():
    packing = Packing((4, 8), (TileLoop(1, 4, 2), *_block()), 2)
    arrays = {"a": np.zeros((4, 8), np.int8), "b": np.zeros((4, 8), np.int8)}
    result = packed(arrays, {"b": packing})
    assert result["a"] is arrays["a"] and result["b"].shape == (32,)


def _block() -> tuple[TileLoop, TileLoop]:
    return TileLoop(0, 1, DIM), TileLoop(1, 1, DIM)
