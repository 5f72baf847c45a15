"""The TensorIR module that stands for an operator in tuning: it says which one it is."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from tvm.ir import IRModule
from tvm.tirx import PrimFunc

from ..device import DeviceConfig
from ..topi import Operator
from ..topi.definition import OPERATOR, definition, from_json, operator_in, to_json
from .function import Function, Measurable

# What a function of anyone says of itself, as a definition says its operator.
_FUNCTION = "npu.function"


def workload_module(operator: Operator, config: DeviceConfig) -> IRModule:
    """The workload under which an operator is tuned and found in the logs.

    It is made of the operator's canonical form: scales and activations do not matter to time.
    """
    return _module_of(operator.canonical(), config)


@lru_cache(maxsize=256)  # parsing TVMScript takes some tenths of a second
def _module_of(operator: Operator, config: DeviceConfig) -> IRModule:
    func = definition(operator, config).with_attr("global_symbol", "main")
    return IRModule({"main": func})


def function_workload(func: PrimFunc) -> IRModule:
    """The workload of an unscheduled function of anyone: what it computes, as it is, is what every
    schedule of it has to. Raises ValueError for one with other arguments than tensors of integers.
    """
    text = to_json(Function.of(func))
    # TVM's tuning says of every function that its arguments do not overlap.
    named = func.with_attr({"global_symbol": "main", "tirx.noalias": True, _FUNCTION: text})
    return IRModule({"main": named})


def measured_by(mod: IRModule) -> Measurable:
    """What a module computes, scheduled or not: an operator, or the function that it was.

    Raises ValueError for a module that does not say.
    """
    func = mod["main"]
    operator = operator_in(func)
    if operator is not None:
        return operator
    text = func.attrs.get(_FUNCTION) if func.attrs else None
    if text is None:
        raise ValueError(
            f"the module has no attribute {OPERATOR} or {_FUNCTION}; make it by workload_module, "
            "or by function_workload"
        )
    return _measured(str(text))


def operator_of(mod: IRModule) -> Operator:
    """The operator of a workload's module, scheduled or not.

    Raises ValueError for another module.
    """
    operator = operator_in(mod["main"])
    if operator is None:
        raise ValueError(f"the module has no attribute {OPERATOR}; make it by workload_module")
    return operator


def load_measured(path: Path) -> Measurable:
    """What is measured, of a file with that text."""
    return _measured(path.read_text(encoding="utf-8"))


def _measured(text: str) -> Measurable:
    fields: dict[str, Any] = json.loads(text)
    return Function(**fields["attrs"]) if fields["op"] == Function.op else from_json(text)
