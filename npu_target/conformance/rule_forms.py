"""The forms of a rule of requantization, each run or taken apart, so that they can be compared."""

from __future__ import annotations

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, te, tirx
from tvm.ir import IRModule
from tvm.relax.dpl import DFPattern, wildcard

from npu_target.device.requantize import Requantized, RequantizeRule, Rescaling, Scale
from npu_target.host import build_host, run_host
from npu_target.relax_graph import Graph

SIZE = 512
CHANNELS = 4
_MOST_BITS = 30


def sums(seed: int) -> np.ndarray:
    """int32 of all sizes, [SIZE], halves of powers of two among them; none so near to the end of
    int32 that rounding it would wrap."""
    random = np.random.default_rng(seed)
    spans = 2 ** random.integers(1, _MOST_BITS + 1, SIZE)
    values = random.integers(-spans, spans)
    powers = 1 << random.integers(0, _MOST_BITS, SIZE // 4)
    values[::4] = powers * random.choice([-3, -1, 1], SIZE // 4)
    return np.clip(values, -(2**_MOST_BITS), 2**_MOST_BITS - 1).astype(np.int32)


def scales_of(rule: RequantizeRule, seed: int, count: int = 6) -> list[float]:
    """Random scales that a rule has: float32 values from 2**-20 to 4, powers of two first.

    Raises ValueError for a rule that has none of these powers.
    """
    random = np.random.default_rng(seed)
    powers = [2.0**x for x in random.permutation(np.arange(-20, 3)).tolist()]
    others = [float(np.float32(2**x)) for x in random.uniform(-20, 2, count)]
    found = [scale for scale in powers if rule.refusal(scale) is None][:count]
    if not found:
        raise ValueError(f"the rule {rule.name!r} has no power of two from 2**-20 to 4 as a scale")
    return found + [scale for scale in others if rule.refusal(scale) is None]


def kernel(rule: RequantizeRule, scale: float, relu: bool) -> tirx.PrimFunc:
    """`expression` of int32 elements x, [SIZE], to int8 ones."""
    x = te.placeholder((SIZE,), "int32", "x")
    y = te.compute((SIZE,), lambda i: rule.expression(x(i), scale, relu), "y")
    return te.create_prim_func([x, y])


def by_tensorir(rule: RequantizeRule, scale: float, relu: bool, values: np.ndarray) -> np.ndarray:
    """What `expression` makes of int32 sums, [SIZE], compiled for the host."""
    result = tvm.runtime.tensor(np.zeros(SIZE, np.int8))
    tvm.compile(kernel(rule, scale, relu), "llvm")(tvm.runtime.tensor(values), result)
    return result.numpy()


def matched(rule: RequantizeRule, scale: float, relu: bool) -> list[Requantized | None]:
    """What `match` finds in the value that `kernel` stores, as it is and simplified."""
    func = kernel(rule, scale, relu)
    simplified = tirx.transform.StmtSimplify()(IRModule({"main": func}))["main"]
    return [rule.match(_stored(func)), rule.match(_stored(simplified))]


def network(rule: RequantizeRule, scale: Scale) -> IRModule:
    """A function in Relax of what `emit` makes of an int32 tensor x, [SIZE // CHANNELS, CHANNELS],
    whose last axis are the channels."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((SIZE // CHANNELS, CHANNELS), "int32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(rule.emit(builder, x, scale, "y"))
        builder.emit_func_output(result)
    return builder.get()


def by_relax(mod: IRModule, values: np.ndarray) -> np.ndarray:
    """What a function of `network` makes of sums of its shape, on the host."""
    (found,) = run_host(build_host(mod), values)
    return found


def reading(rule: RequantizeRule, mod: IRModule) -> Rescaling | str | None:
    """What `read` says of a function whose value is a requantization of its argument; None where
    `pattern` does not match it."""
    graph = Graph(mod)
    parts: dict[str, DFPattern] = {}
    value = wildcard()
    found = graph.extract(rule.pattern(value, parts), graph.order[-1])
    if found is None or not found[value].same_as(mod["main"].params[0]):
        return None
    return rule.read({name: found[part] for name, part in parts.items() if part in found})


def _stored(func: tirx.PrimFunc) -> tirx.Expr:
    """The value of the only store of a function."""
    found: list[tirx.BufferStore] = []
    tvm_ffi.structural_walk(func.body, (tirx.BufferStore, found.append))
    (store,) = found
    return store.value
