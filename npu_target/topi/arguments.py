"""Changes to a definition's argument list."""

from __future__ import annotations

from tvm import tirx


def drop_argument(func: tirx.PrimFunc, name: str) -> tirx.PrimFunc:
    """``func`` without the argument of this name, which its body never reads."""
    kept = [param for param in func.params if param.name != name]
    if len(kept) != len(func.params) - 1:
        raise ValueError(f"drop_argument: no single argument {name!r} in {list(func.params)}")
    return tirx.PrimFunc(kept, func.body, func.ret_type, func.attrs)
