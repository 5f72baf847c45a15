"""The TensorIR module that stands for an operator in tuning: it says which one it is."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from tvm.ir import IRModule

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
    func = operator.prim_func(config).with_attr(
        {"global_symbol": "main", _ATTRIBUTE: to_json(operator)}
    )
    return IRModule({"main": func})


def operator_of(mod: IRModule) -> Operator:
    """The operator of a module that `workload_module` made, scheduled or not.

    Raises ValueError for another module.
    """
    attrs = mod["main"].attrs
    if attrs is None or _ATTRIBUTE not in attrs:
        raise ValueError(f"the module has no attribute {_ATTRIBUTE}; make it by workload_module")
    return from_json(str(attrs[_ATTRIBUTE]))


def to_json(operator: Operator) -> str:
    return json.dumps({"op": operator.op, "attrs": operator.attrs()}, sort_keys=True)


def from_json(text: str) -> Operator:
    fields: dict[str, Any] = json.loads(text)
    return make(fields["op"], fields["attrs"])


def load_operator(path: Path) -> Operator:
    return from_json(path.read_text(encoding="utf-8"))
