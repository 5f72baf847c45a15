"""A function of anyone as a thing to measure: its own unscheduled TensorIR says what is right."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np
import tvm
from tvm.tirx import PrimFunc

from ..device.numbers import Numbers
from ..topi import Arg
from ..topi.operator import Arrays, draw


class Measurable(Protocol):
    """What measuring asks of a computation: that of an operator, or of a function."""

    op: ClassVar[str]

    @property
    def name(self) -> str: ...

    @property
    def args(self) -> tuple[Arg, ...]: ...

    def attrs(self) -> dict[str, Any]: ...

    def sample(self, generator: np.random.Generator) -> dict[str, np.ndarray]: ...

    def reference(self, inputs: Arrays, numbers: Numbers) -> np.ndarray: ...


@dataclass(frozen=True)
class Function:
    """An unscheduled function in TVM's JSON form; its last argument is the output, the others are
    inputs of integers."""

    op: ClassVar[str] = "function"

    text: str

    @classmethod
    def of(cls, func: PrimFunc) -> Function:
        """Raises ValueError for a function with an argument that is no tensor of integers of
        a known shape."""
        function = cls(str(tvm.ir.save_json(func)))
        for arg in function.args:
            if not np.issubdtype(np.dtype(arg.dtype), np.integer):
                raise ValueError(f"argument {arg.name} is {arg.dtype}, needs integers")
        return function

    @property
    def prim_func(self) -> PrimFunc:
        return _function(self.text)

    @property
    def name(self) -> str:
        return str(self.prim_func.attrs["global_symbol"])

    @cached_property
    def args(self) -> tuple[Arg, ...]:
        """In call order, the output last."""
        params = list(self.prim_func.params)
        return tuple(
            Arg(
                str(param.name),
                "output" if place == len(params) - 1 else "input",
                str(param.dtype),
                tuple(int(extent) for extent in param.shape),
            )
            for place, param in enumerate(params)
        )

    def attrs(self) -> dict[str, Any]:
        return {"text": self.text}

    def sample(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """Inputs by name: all of int8, and of wider types what sums of so many products are."""
        return {
            arg.name: draw(generator, arg, min(np.iinfo(arg.dtype).max, _MOST_SAMPLED))
            for arg in self.args[:-1]
        }

    def reference(self, inputs: Arrays, numbers: Numbers) -> np.ndarray:
        """What the function as it was written computes, compiled for this host."""
        output = self.args[-1]
        result = tvm.runtime.tensor(np.zeros(output.shape, output.dtype))
        arrays = [tvm.runtime.tensor(inputs[arg.name]) for arg in self.args[:-1]]
        _compiled(self.text)(*arrays, result)
        return result.numpy()


_MOST_SAMPLED = 1 << 20


@lru_cache(maxsize=64)
def _function(text: str) -> PrimFunc:
    return tvm.ir.load_json(text)


@lru_cache(maxsize=64)
def _compiled(text: str) -> Any:
    func = _function(text).with_attr("global_symbol", "main")
    return tvm.compile(tvm.IRModule({"main": func}), "llvm")["main"]
