"""Which function brings which kind of operator into Relax."""

from __future__ import annotations

from collections.abc import Callable

from .operation import Converter

_converters: dict[str, Converter] = {}


def converts(*kinds: str) -> Callable[[Converter], Converter]:
    """Decorator of the function for operators of these kinds.

    It takes an `Operation` and returns what holds its result in Relax: an expression, one for each
    result, or None where it has made a constant.
    """

    def register(converter: Converter) -> Converter:
        for kind in kinds:
            if _converters.setdefault(kind, converter) is not converter:
                raise ValueError(f"{kind} has a converter")
        return converter

    return register


def converter_of(kind: str) -> Converter | None:
    """None for a kind that nobody knows."""
    return _converters.get(kind)


def known_kinds() -> list[str]:
    """All kinds of operators that can be imported, sorted."""
    return sorted(_converters)
