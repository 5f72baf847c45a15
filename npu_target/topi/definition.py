"""Definitions that say which operator they are, whatever is scheduled in them."""

from __future__ import annotations

import json
from typing import Any, ClassVar, Protocol

from tvm.tirx import PrimFunc

from ..device import DeviceConfig
from .operator import Operator
from .registry import make

# Kept by every schedule primitive.
OPERATOR = "npu.operator"


def definition(operator: Operator, config: DeviceConfig) -> PrimFunc:
    """An operator's ``prim_func`` that says which operator it is."""
    return operator.prim_func(config).with_attr(OPERATOR, to_json(operator))


def operator_in(func: PrimFunc) -> Operator | None:
    """The operator that a function says it is, None where it says nothing."""
    text = func.attrs.get(OPERATOR) if func.attrs else None
    return None if text is None else from_json(str(text))


class Computed(Protocol):
    """An operator, or what is written as one."""

    op: ClassVar[str]

    def attrs(self) -> dict[str, Any]: ...


def to_json(computed: Computed) -> str:
    """An operator as text."""
    return json.dumps({"op": computed.op, "attrs": computed.attrs()}, sort_keys=True)


def from_json(text: str) -> Operator:
    """The operator that `to_json` wrote."""
    fields: dict[str, Any] = json.loads(text)
    return make(fields["op"], fields["attrs"])
