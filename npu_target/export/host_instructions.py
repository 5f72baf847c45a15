"""How many instructions a host function runs on a RISC-V core, told from its loops."""

from __future__ import annotations

from dataclasses import dataclass, field

from tvm import ir, tirx
from tvm.sym import Analyzer

from .expressions import library_function

# Of RV64GC, as `gcc -O2` compiles them; what is not here is one instruction, or part of another.
_MIN_MAX = {True: 3, False: 2}  # of floats: compare, branch, move
_CHOICE = 2  # a branch and a move
_ROUND = 6  # size, compare, branch, add, subtract, sign
_DIVISION, _REMAINDER = 4, 5  # by a constant: a product and shifts
# Of picolibc 1.8, counted: the mean of arguments that are spread normally, the call included.
_LIBRARY = {
    "exp": 87, "erf": 130, "log": 100, "pow": 295, "tanh": 140, "exp2": 300, "log2": 110,
    "sin": 115, "cos": 115, "floor": 24, "ceil": 24, "trunc": 14, "sqrt": 3, "fabs": 1,
}  # fmt: skip
_LOOP = 2  # before the first iteration
_FREE = (tirx.IntImm, tirx.FloatImm, tirx.Var)


@dataclass
class _Level:
    """A loop's body, or the function. `seen` : what is computed there already."""

    instructions: float = 0
    seen: set[str] = field(default_factory=set)


def host_instructions(func: tirx.PrimFunc) -> int:
    """An estimate for one call of a function in plain loops (`host_loops`): each operation, load
    and store, where the innermost loop is whose variable it needs; an addition for each place that
    moves along a loop; a branch an iteration."""
    return round(_Counter().function(func))


class _Counter:
    def __init__(self) -> None:
        self._levels = [_Level()]
        self._depths: dict[tirx.Var, int] = {}
        self._analyzer = Analyzer()

    def function(self, func: tirx.PrimFunc) -> float:
        self._statement(func.body)
        return self._levels[0].instructions

    def _charge(self, depth: int, instructions: float) -> None:
        self._levels[depth].instructions += instructions

    # ---- statements ----------------------------------------------------------------------

    def _statement(self, stmt: tirx.Stmt) -> None:
        if isinstance(stmt, tirx.SeqStmt):
            for part in stmt.seq:
                self._statement(part)
        elif isinstance(stmt, tirx.For):
            self._loop(stmt)
        elif isinstance(stmt, tirx.BufferStore):
            self._expression(stmt.value)
            self._charge(self._place(stmt.buffer, stmt.indices[0]), 1)
        elif isinstance(stmt, tirx.IfThenElse):
            self._charge(self._expression(stmt.condition), 1)
            self._statement(stmt.then_case)
            if stmt.else_case is not None:
                self._statement(stmt.else_case)
        elif isinstance(stmt, tirx.Bind):
            self._depths[stmt.var] = self._expression(stmt.value)
        elif isinstance(stmt, tirx.AttrStmt):
            self._statement(stmt.body)

    def _loop(self, loop: tirx.For) -> None:
        self._depths[loop.loop_var] = len(self._levels)
        self._analyzer.bind(loop.loop_var, ir.Range.from_min_extent(loop.min, loop.extent))
        extent = self._analyzer.const_int_bound(loop.extent).max_value
        self._levels.append(_Level())
        self._statement(loop.body)
        body = self._levels.pop()
        self._charge(-1, _LOOP + extent * (body.instructions + 1))

    # ---- expressions ---------------------------------------------------------------------

    def _expression(self, node: ir.Expr) -> int:
        """Charge it once, in the innermost loop that it depends on. Returns the depth of that."""
        if isinstance(node, tirx.Var):
            return self._depths.get(node, 0)
        if isinstance(node, _FREE):
            return 0
        if isinstance(node, ir.TensorLoad):
            depth = self._place(node.source, node.indices[0])
            return self._once(depth, str(node), 1)
        parts = _operands(node)
        depth = max(map(self._expression, parts), default=0)
        return self._once(depth, str(node), _instructions(node))

    def _once(self, depth: int, text: str, instructions: float) -> int:
        level = self._levels[depth]
        if text not in level.seen:
            level.seen.add(text)
            level.instructions += instructions
        return depth

    def _place(self, array: tirx.Var, index: ir.Expr) -> int:
        """Charge what it takes to know where an element lies; sums move along their loops."""
        depths = self._moving(index)
        for depth in depths:
            self._once(depth, f"{array.name}[{index}", 1)
        return max(depths, default=0)

    def _moving(self, index: ir.Expr) -> set[int]:
        """The loops along which a sum of variables moves; all else in it is computed."""
        if isinstance(index, tirx.Var):
            return {self._depths.get(index, 0)} - {0}
        if isinstance(index, (tirx.Add, tirx.Sub, tirx.Mul)):
            return self._moving(index.a) | self._moving(index.b)
        return {self._expression(index)} - {0}


def _operands(node: ir.Expr) -> list[ir.Expr]:
    if isinstance(node, (tirx.Cast, ir.Call, tirx.Not, tirx.BitwiseNot, tirx.Select)):
        if isinstance(node, tirx.Cast):
            return [node.value]
        if isinstance(node, (tirx.Not, tirx.BitwiseNot)):
            return [node.a]
        if isinstance(node, tirx.Select):
            return [node.condition, node.true_value, node.false_value]
        return list(node.args)
    return [node.a, node.b]


def _instructions(node: ir.Expr) -> float:
    """Of the operation alone."""
    dtype = str(node.ty.dtype) if hasattr(node.ty, "dtype") else str(node.dtype)
    is_float = dtype.startswith("float")
    if isinstance(node, (tirx.Min, tirx.Max)):
        return _MIN_MAX[is_float]
    if isinstance(node, tirx.Cast):
        source = str(node.value.ty.dtype)
        return int(is_float or source.startswith("float"))
    if isinstance(node, tirx.FloorDiv):
        return _DIVISION
    if isinstance(node, tirx.FloorMod):
        return _REMAINDER
    if isinstance(node, tirx.Select):
        return _CHOICE
    if isinstance(node, ir.Call):
        return _call(node)
    return 1


def _call(node: ir.Call) -> float:
    name = str(getattr(node.op, "name", node.op))
    if name.endswith("if_then_else"):
        return _CHOICE
    if name.endswith("likely"):
        return 0
    if name in ("tirx.nearbyint", "tirx.round"):
        return _ROUND
    if name == "tirx.rsqrt":
        return _LIBRARY["sqrt"] + 1
    if name == "tirx.sigmoid":
        return _LIBRARY["exp"] + 3
    return _LIBRARY[library_function(name)]
