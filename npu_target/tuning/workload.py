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
from .function import Function, Measurable

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


def function_workload(func: PrimFunc) -> IRModule:
    """The workload of an unscheduled function of anyone: what it computes, as it is, is what every
    schedule of it has to. Raises ValueError for one with other arguments than tensors of integers.
    """
    text = to_json(Function.of(func))
    # TVM's tuning says of every function that its arguments do not overlap.
    named = func.with_attr({"global_symbol": "main", "tirx.noalias": True, _ATTRIBUTE: text})
    return IRModule({"main": named})


def measured_by(mod: IRModule) -> Measurable:
    """What a module computes, scheduled or not: an operator, or the function that it was.

    Raises ValueError for a module that does not say.
    """
    found = _said_by(mod["main"])
    if found is None:
        raise ValueError(
            f"the module has no attribute {_ATTRIBUTE}; make it by workload_module, or by "
            "function_workload"
        )
    return found


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
    found = _said_by(func)
    return found if isinstance(found, Operator) else None


def _said_by(func: PrimFunc) -> Measurable | None:
    text = func.attrs.get(_ATTRIBUTE) if func.attrs else None
    return None if text is None else _measured(str(text))


def to_json(computed: Measurable) -> str:
    return json.dumps({"op": computed.op, "attrs": computed.attrs()}, sort_keys=True)


def from_json(text: str) -> Operator:
    fields: dict[str, Any] = json.loads(text)
    return make(fields["op"], fields["attrs"])


def _measured(text: str) -> Measurable:
    fields: dict[str, Any] = json.loads(text)
    return Function(**fields["attrs"]) if fields["op"] == Function.op else from_json(text)


def load_measured(path: Path) -> Measurable:
    return _measured(path.read_text(encoding="utf-8"))
