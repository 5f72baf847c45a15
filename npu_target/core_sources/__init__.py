"""C for the device's host core, whatever it runs: counters, start-up without an operating system,
the linker's scripts, commands that trap. An export and a measured kernel have the same.
"""

from __future__ import annotations

from importlib.resources import files

COUNTERS = ("core.h", "core.c")
BARE_METAL = ("start.S", "bare_metal.c", "htif.c", "memory.ld", "checks.ld")
TRAPS = ("trap.c", "issued.h")


def core_source(name: str) -> str:
    """The text of one of these files."""
    return files(__package__).joinpath(f"files/{name}").read_text()
