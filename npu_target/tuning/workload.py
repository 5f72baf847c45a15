"""The TensorIR module that stands for an operator in tuning: it says which one it is."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from tvm.ir import IRModule
from tvm.tirx import PrimFunc

from ..device import DeviceConfig
from ..topi import Operator, make

# Kept by every schedule primitive, so that a scheduled module tells what it should compute.
_ATTRIBUTE = "npu.operator"


def workload_module(operator: Operator, config: DeviceConfig) -> IRModule:
    """The workload under which an operator is tuned and found in the logs.

    It is made of the operator's canonical form: scales and activations do not matter to time.
    """
    return _module_of(operator.canonical(), config)


@lru_cache(maxsize=256)  # parsing TVMScript takes some tenths of a second
def _module_of(operator: Operator, config: DeviceConfig) -> IRModule:
    func = workload_function(operator, config).with_attr("global_symbol", "main")
    return IRModule({"main": func})


def workload_function(operator: Operator, config: DeviceConfig) -> PrimFunc:
    """An operator's definition that says which operator it is, whatever is scheduled in it."""
    return operator.prim_func(config).with_attr(_ATTRIBUTE, to_json(operator))


def operator_of(mod: IRModule) -> Operator:
    """The operator of a module around a `workload_function`, scheduled or not.

    Raises ValueError for another module.
    """
    operator = operator_in(mod["main"])
    if operator is None:
        raise ValueError(f"the module has no attribute {_ATTRIBUTE}; make it by workload_module")
    return operator


def operator_in(func: PrimFunc) -> Operator | None:
    """The operator that a function says it is, None where it says nothing."""
    text = func.attrs.get(_ATTRIBUTE) if func.attrs else None
    return None if text is None else from_json(str(text))


def to_json(operator: Operator) -> str:
    return json.dumps({"op": operator.op, "attrs": operator.attrs()}, sort_keys=True)


def from_json(text: str) -> Operator:
    fields: dict[str, Any] = json.loads(text)
    return make(fields["op"], fields["attrs"])


def load_operator(path: Path) -> Operator:
    return from_json(path.read_text(encoding="utf-8"))
