"""The operators that are installed, by name, and which of them a device has.

An operator is registered where its class is defined, by a decorator. The modules of this package
are all looked at; a package of others names its own by entry points of the group
`npu_target.operators`, each the place of an `Operator` class.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from numbers import Integral, Real
from pkgutil import iter_modules
from types import MappingProxyType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from ..device import DeviceConfig, kind_of
from .operator import Operator, OperatorError, require_countable

ENTRY_POINTS = "npu_target.operators"

# NumPy's numbers count as well.
_NUMBERS: Mapping[type, type] = MappingProxyType({int: Integral, float: Real})

Class = TypeVar("Class", bound=type[Operator])

_registered: dict[str, type[Operator]] = {}
# Kinds of device by the operators that they have though their manifests do not name them.
_devices: dict[str, frozenset[str]] = {}


def register_operator(*, devices: Iterable[str] = ()) -> Callable[[Class], Class]:
    """A decorator that makes an operator known by its ``op``.

    Parameters
    ----------
    devices : kinds of device that compute it beside those whose manifests name it.

    Raises
    ------
    OperatorError
        for a class that is no frozen dataclass with a name, or whose name another one has.
    """
    kinds = frozenset(devices)

    def register(cls: Class) -> Class:
        if not isinstance(vars(cls).get("op"), str):
            raise OperatorError(f"{cls.__name__}: needs a name of its own, op")
        # The decorator of dataclasses comes first; without it, or unfrozen, attributes get lost.
        if "__dataclass_fields__" not in vars(cls) or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            raise OperatorError(f"{cls.op}: {cls.__name__} must be a frozen dataclass")
        there = _registered.get(cls.op)
        if there is not None and _place(there) != _place(cls):
            raise OperatorError(f"{cls.op}: {_place(cls)} has the name of {_place(there)}")
        _registered[cls.op], _devices[cls.op] = cls, kinds
        return cls

    return register


def unregister_operator(op: str) -> None:
    """Forget the operator of this name."""
    del _registered[op], _devices[op]


def operators() -> Mapping[str, type[Operator]]:
    """The installed operators by name."""
    _load()
    return MappingProxyType(_registered)


def operators_of(config: DeviceConfig) -> tuple[type[Operator], ...]:
    """The operators that a device has, those of its manifest first, in its order.

    Raises
    ------
    OperatorError
        for a manifest that names an operator which is not installed.
    """
    kind = kind_of(config)
    own = [_named(op, f"device kind {kind.name}: ") for op in kind.operators]
    others = [cls for op, cls in operators().items() if kind.name in _devices[op]]
    return tuple(dict.fromkeys([*own, *others]))


def make(op: str, attrs: dict[str, Any]) -> Operator:
    """The operator ``op`` with these attributes, as :meth:`Operator.attrs` gives them.

    Raises
    ------
    OperatorError
        for an unknown operator or attribute, a missing one, and values that are of another type
        or make no sense.
    """
    cls = _named(op)
    _check_names(cls, attrs)
    values = {
        name: tuple(value) if isinstance(value, (list, tuple)) else value
        for name, value in attrs.items()
    }
    hints = get_type_hints(cls)
    for name, value in values.items():
        if not _has_type(value, hints[name]):
            wanted = hints[name].__name__ if isinstance(hints[name], type) else hints[name]
            raise OperatorError(f"{op}: {name} must be {wanted}, got {value!r}")
    operator = cls(**values)
    require_countable(operator)
    return operator


def _check_names(cls: type[Operator], attrs: dict[str, Any]) -> None:
    """Raise OperatorError for unknown and for missing attributes, with those that there are."""
    needed = [f.name for f in fields(cls) if f.default is MISSING]
    others = [f"{f.name}={f.default!r}" for f in fields(cls) if f.default is not MISSING]
    unknown = [name for name in attrs if name not in {f.name for f in fields(cls)}]
    missing = [name for name in needed if name not in attrs]
    wrong = [
        *([f"has no attribute {', '.join(unknown)}"] if unknown else ()),
        *([f"{', '.join(missing)} not given"] if missing else ()),
    ]
    if wrong:
        raise OperatorError(
            f"{cls.op}: {'; '.join(wrong)}; needs {', '.join(needed)}, takes {', '.join(others)}"
        )


def _has_type(value: Any, wanted: Any) -> bool:
    """Whether a value is of an annotated type: a number, a truth value, None, a tuple of them."""
    if isinstance(wanted, UnionType):
        return any(_has_type(value, part) for part in get_args(wanted))
    if get_origin(wanted) is tuple:
        parts = get_args(wanted)
        if parts[-1] is Ellipsis:
            return isinstance(value, tuple) and all(_has_type(each, parts[0]) for each in value)
        return (
            isinstance(value, tuple)
            and len(value) == len(parts)
            and all(map(_has_type, value, parts))
        )
    if isinstance(value, bool):
        return wanted is bool
    return isinstance(value, _NUMBERS.get(wanted, wanted))


def _named(op: str, owner: str = "") -> type[Operator]:
    if op not in operators():
        known = ", ".join(sorted(operators()))
        raise OperatorError(f"{owner}unknown operator {op!r}; known: {known}")
    return operators()[op]


def _place(cls: type[Operator]) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


@cache
def _load() -> None:
    """Import what registers operators. One of others that cannot be loaded is left out, with a
    warning."""
    package = import_module(__package__)
    for module in sorted(iter_modules(package.__path__), key=lambda module: module.name):
        import_module(f"{__package__}.{module.name}")
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            cls = point.load()
            if _registered.get(getattr(cls, "op", "")) is not cls:
                raise OperatorError("is no class that register_operator was called with")
        except Exception as error:  # noqa: BLE001  a package of others must not break this one
            warnings.warn(
                f"operator {point.name} ({point.value}) cannot be used: {error}", stacklevel=2
            )
