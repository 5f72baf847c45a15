"""Where a program's arguments and constants lie when nobody says otherwise.

The simulator puts them there as well: `Program::default_addresses` in `device_api/sim/program.cc`.
"""

from __future__ import annotations

from .program import Program

FIRST_ADDRESS = 0x8001_0000
PAGE_BYTES = 4096


def default_addresses(program: Program, first: int = FIRST_ADDRESS) -> dict[str, int]:
    """The address of each of the `places`, by name: from `first` on, which is at a page, each at a
    page of its own, or further on where commands name it in larger units."""
    addresses: dict[str, int] = {}
    address = first
    for place, alignment in zip(program.places, program.alignments, strict=True):
        address = _rounded_up(address, alignment)
        addresses[place.name] = address
        address += whole_pages(place.nbytes)
    return addresses


def whole_pages(nbytes: int) -> int:
    """Bytes of the pages that so many bytes take."""
    return _rounded_up(nbytes, PAGE_BYTES)


def _rounded_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
