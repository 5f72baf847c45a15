"""Read constants and types out of a simple C header: `#define NAME integer`, `typedef T NAME`."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?!\w|\()(?:[ \t]+(.*))?$", re.MULTILINE)
_TYPEDEF = re.compile(r"^[ \t]*typedef[ \t]+([\w \t]+?)[ \t]+(\w+)[ \t]*;", re.MULTILINE)
_SUFFIX = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b")
_MAX_EXPANSIONS = 64


class CHeaderError(ValueError):
    """Something needed is not in the header, or is not what it should be."""


@dataclass(frozen=True)
class CHeader:
    """Object-like macros as text, and typedefs. Conditionals are not evaluated."""

    macros: dict[str, str]
    typedefs: dict[str, str]

    @classmethod
    def parse(cls, text: str) -> CHeader:
        text = _COMMENT.sub(" ", text.replace("\r\n", "\n").replace("\\\n", " "))
        macros = {name: (body or "").strip() for name, body in _DEFINE.findall(text)}
        typedefs = {name: " ".join(type_.split()) for type_, name in _TYPEDEF.findall(text)}
        return cls(macros, typedefs)

    def defines(self, name: str) -> bool:
        return name in self.macros

    def typedef(self, name: str) -> str:
        """The type that `name` stands for. Raises CHeaderError when there is none."""
        if name not in self.typedefs:
            raise CHeaderError(f"no `typedef ... {name};`")
        return self.typedefs[name]

    def integer(self, name: str) -> int:
        """The value of a macro made of integers, other such macros and + - * / % << >>.

        Raises CHeaderError when it is missing or made of something else.
        """
        return self._evaluate(name, depth=0)

    def _evaluate(self, name: str, depth: int) -> int:
        if name not in self.macros:
            raise CHeaderError(f"no `#define {name}`")
        body = self.macros[name]
        if depth > _MAX_EXPANSIONS:
            raise CHeaderError(f"`#define {name} {body}` refers to itself")
        try:
            tree = ast.parse(_SUFFIX.sub(r"\1", body), mode="eval").body
        except SyntaxError as error:
            raise CHeaderError(f"`#define {name} {body}` is not an integer") from error
        return self._value(tree, name, depth)

    def _value(self, node: ast.expr, name: str, depth: int) -> int:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name):
            return self._evaluate(node.id, depth + 1)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._value(node.operand, name, depth)
        if isinstance(node, ast.BinOp):
            left = self._value(node.left, name, depth)
            right = self._value(node.right, name, depth)
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Sub):
                return left - right
            if isinstance(node.op, ast.Mult):
                return left * right
            if isinstance(node.op, ast.LShift) and 0 <= right < 64:
                return left << right
            if isinstance(node.op, ast.RShift) and right >= 0:
                return left >> right
            # C truncates toward zero where Python floors; equal for the signs allowed here.
            if isinstance(node.op, ast.Div) and left >= 0 and right > 0:
                return left // right
            if isinstance(node.op, ast.Mod) and left >= 0 and right > 0:
                return left % right
        raise CHeaderError(f"`#define {name} {self.macros[name]}` is not an integer")
