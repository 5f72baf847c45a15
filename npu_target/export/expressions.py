"""TensorIR's expressions as C that computes the same to the last bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tvm import ir, tirx
from tvm.sym import Analyzer

from .c_text import c_type, float_text
from .errors import ExportError

_TERNARY, _OR, _AND, _EQUAL, _LESS, _SUM, _PRODUCT, _UNARY, _ATOM = range(1, 10)
_INFIX = {
    tirx.Add: ("+", _SUM), tirx.Sub: ("-", _SUM), tirx.Mul: ("*", _PRODUCT),
    tirx.Div: ("/", _PRODUCT), tirx.Mod: ("%", _PRODUCT), tirx.EQ: ("==", _EQUAL),
    tirx.NE: ("!=", _EQUAL), tirx.LT: ("<", _LESS), tirx.LE: ("<=", _LESS), tirx.GT: (">", _LESS),
    tirx.GE: (">=", _LESS), tirx.And: ("&&", _AND), tirx.Or: ("||", _OR),
}  # fmt: skip
# Between operands in parentheses: compilers warn of these without.
_BITS = {tirx.RShift: ">>", tirx.BitwiseAnd: "&", tirx.BitwiseOr: "|", tirx.BitwiseXor: "^"}
# Of the C library. The host's LLVM code calls the same functions, or has instructions for them.
_LIBRARY = {
    "tirx.exp": "exp", "tirx.erf": "erf", "tirx.sqrt": "sqrt", "tirx.log": "log",
    "tirx.pow": "pow", "tirx.fabs": "fabs", "tirx.floor": "floor", "tirx.ceil": "ceil",
    "tirx.trunc": "trunc", "tirx.tanh": "tanh", "tirx.cos": "cos", "tirx.sin": "sin",
    "tirx.exp2": "exp2", "tirx.log2": "log2",
}  # fmt: skip

HELPERS = """\
#define DEFINE_MIN_MAX(name, type)                                                \\
  static inline type min_##name(type a, type b) { return a < b ? a : b; }         \\
  static inline type max_##name(type a, type b) { return a > b ? a : b; }
#define DEFINE_FLOOR(name, type)                                                  \\
  static inline type floor_div_##name(type a, type b) {                           \\
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));                        \\
  }                                                                               \\
  static inline type floor_mod_##name(type a, type b) { return a - b * floor_div_##name(a, b); }
// nearbyint without a call: a number from `limit` on is whole, and a smaller one with `limit` added
// is rounded to one, half to even.
#define DEFINE_ROUND(name, type, size_of, signed_like, limit)                     \\
  static inline type round_##name(type x) {                                       \\
    const type size = size_of(x);                                                 \\
    return size < limit ? signed_like((size + limit) - limit, x) : x;             \\
  }
"""
_INTEGERS = ("int8", "int16", "int32", "int64")


def library_function(name: str) -> str:
    """What the C library calls one of TVM's functions, without the suffix for its type."""
    return _LIBRARY[name]


def calls_library(call: ir.Call) -> bool:
    """Whether it is a call in C as well, not an instruction or two."""
    name = str(getattr(call.op, "name", call.op))
    return name == "tirx.sigmoid" or _LIBRARY.get(name, "fabs") not in ("fabs", "sqrt")


def helpers(body: str) -> str:
    """The inline functions that expressions of `body` call."""
    lines = []
    for macro, parts, dtypes in (
        ("DEFINE_MIN_MAX", ("min_", "max_"), (*_INTEGERS, "uint8", "float32", "float64")),
        ("DEFINE_FLOOR", ("floor_div_", "floor_mod_"), _INTEGERS),
    ):
        for dtype in dtypes:
            if any(f"{part}{dtype}(" in body for part in parts):
                lines.append(f"{macro}({dtype}, {c_type(dtype, 'helpers')})")
    for dtype, suffix, limit in (("float32", "f", "0x1p23f"), ("float64", "", "0x1p52")):
        if f"round_{dtype}(" in body:
            functions = f"fabs{suffix}, copysign{suffix}"
            lines.append(f"DEFINE_ROUND({dtype}, {c_type(dtype, 'helpers')}, {functions}, {limit})")
    return "".join(f"{line}\n" for line in lines)


class Expressions:
    """The expressions of one function.

    `names` are of its variables and arrays; `number` is asked for each constant that is no
    integer, and gives the text that stands for it.
    """

    def __init__(
        self, where: str, names: Mapping[tirx.Var, str], number: Callable[[float, str], str]
    ) -> None:
        self._where = where
        self._names = names
        self._number = number
        self._analyzer = Analyzer()

    def bind(self, loop: tirx.For) -> None:
        """Let the values of a loop's variable be known inside of it."""
        self._analyzer.bind(loop.loop_var, ir.Range.from_min_extent(loop.min, loop.extent))

    def text(self, node: ir.Expr) -> str:
        """Raises ExportError for what has no C here."""
        return self._of(node)[0]

    def element(self, array: tirx.Var, indices: tuple[ir.Expr, ...]) -> str:
        """An element of a flat array."""
        if len(indices) != 1:
            raise ExportError(f"{self._where}: {array.name} is no flat array")
        return f"{self._names[array]}[{self.text(indices[0])}]"

    def _of(self, node: ir.Expr) -> tuple[str, int]:
        """The text, and how strongly its outermost operator binds."""
        kind = type(node)
        if kind in _INFIX:
            symbol, binding = _INFIX[kind]
            left = self._within(node.a, binding)
            return f"{left} {symbol} {self._within(node.b, binding + 1)}", binding
        if kind in _BITS:
            left, right = self._within(node.a, _UNARY), self._within(node.b, _UNARY)
            return f"{left} {_BITS[kind]} {right}", _TERNARY
        if kind is tirx.LShift:
            return self._shifted_left(node)
        if kind is tirx.BitwiseNot:
            return f"~{self._within(node.a, _UNARY)}", _UNARY
        if kind is tirx.Var:
            return self._names[node], _ATOM
        if kind is tirx.IntImm:
            return self._integer(node), _ATOM
        if kind is tirx.FloatImm:
            return self._number(float(node.value), _dtype(node)), _ATOM
        if kind is tirx.Cast:
            return f"({self._type(node)}){self._within(node.value, _UNARY)}", _UNARY
        if kind is tirx.Not:
            return f"!{self._within(node.a, _UNARY)}", _UNARY
        if kind in (tirx.Min, tirx.Max):
            name = "min" if kind is tirx.Min else "max"
            return f"{name}_{_dtype(node)}({self.text(node.a)}, {self.text(node.b)})", _ATOM
        if kind in (tirx.FloorDiv, tirx.FloorMod):
            return self._floor(node)
        if kind is ir.TensorLoad:
            return self.element(node.source, tuple(node.indices)), _ATOM
        if kind is tirx.Select:
            return self._choice(node.condition, node.true_value, node.false_value)
        if kind is ir.Call:
            return self._call(node)
        raise self._unknown(kind.__name__)

    def _within(self, node: ir.Expr, binding: int) -> str:
        text, own = self._of(node)
        return text if own >= binding else f"({text})"

    def _integer(self, node: tirx.IntImm) -> str:
        value, dtype = int(node.value), _dtype(node)
        if dtype == "bool":
            return "true" if value else "false"
        if dtype in ("int64", "uint64") and not -(2**31) < value < 2**31:
            return f"{'U' if dtype == 'uint64' else ''}INT64_C({value})"
        return str(value) if value >= 0 else f"({value})"

    def _floor(self, node: ir.Expr) -> tuple[str, int]:
        is_div = type(node) is tirx.FloorDiv
        if all(self._analyzer.can_prove(part >= 0) for part in (node.a, node.b)):
            symbol = "/" if is_div else "%"
            left, right = self._within(node.a, _PRODUCT), self._within(node.b, _UNARY)
            return f"{left} {symbol} {right}", _PRODUCT
        name = "floor_div" if is_div else "floor_mod"
        return f"{name}_{_dtype(node)}({self.text(node.a)}, {self.text(node.b)})", _ATOM

    def _shifted_left(self, node: ir.Expr) -> tuple[str, int]:
        """As unsigned numbers: C does not say what becomes of negative ones."""
        kind = self._type(node)
        unsigned = kind if kind.startswith("u") else f"u{kind}"
        left, right = self._within(node.a, _UNARY), self._within(node.b, _UNARY)
        return f"({kind})(({unsigned}){left} << {right})", _UNARY

    def _choice(self, condition: ir.Expr, yes: ir.Expr, no: ir.Expr) -> tuple[str, int]:
        parts = [self._within(part, _OR) for part in (condition, yes, no)]
        return "{} ? {} : {}".format(*parts), _TERNARY

    def _call(self, node: ir.Call) -> tuple[str, int]:
        name, arguments = str(getattr(node.op, "name", node.op)), list(node.args)
        dtype = _dtype(node)
        if name in ("prim.if_then_else", "tirx.if_then_else"):
            return self._choice(*arguments)
        if name in ("tirx.likely", "prim.likely"):
            return self._of(arguments[0])
        # LLVM's code for both rounds half to even.
        if name in ("tirx.nearbyint", "tirx.round") and dtype in ("float32", "float64"):
            return f"round_{dtype}({self.text(arguments[0])})", _ATOM
        suffix = "f" if dtype == "float32" else ""
        if name in ("tirx.rsqrt", "tirx.sigmoid"):
            one, x = float_text(1.0, dtype), self.text(arguments[0])
            below = (
                f"sqrt{suffix}({x})" if name == "tirx.rsqrt" else f"({one} + exp{suffix}(-({x})))"
            )
            return f"{one} / {below}", _PRODUCT
        if name in _LIBRARY and dtype in ("float32", "float64"):
            listed = ", ".join(self.text(argument) for argument in arguments)
            return f"{_LIBRARY[name]}{suffix}({listed})", _ATOM
        raise self._unknown(f"{name} of {dtype}")

    def _type(self, node: ir.Expr) -> str:
        return c_type(_dtype(node), self._where)

    def _unknown(self, what: str) -> ExportError:
        return ExportError(
            f"{self._where}: the host would have to compute {what}, for which there is no C here"
        )


def _dtype(node: ir.Expr) -> str:
    return str(node.ty.dtype) if hasattr(node.ty, "dtype") else str(node.dtype)
