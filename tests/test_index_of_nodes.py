"""The page on nodes names every node that is read, and nothing that is not there."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from importlib import import_module
from inspect import getsource
from pkgutil import resolve_name

import pytest
import tvm.ir
from markdown import ROOT
from tvm import tirx

PAGE = (ROOT / "docs" / "index_of_nodes.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "`" in line]
# What reads nodes to make commands of them.
READERS = ["codegen.reader", "codegen.nests", "passes.copies", "passes.linear", "intrin"]


def test_there_is_a_row_for_every_node():
    shown = {name for row in ROWS for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    read = {node for reader in READERS for node in nodes_read_by(reader)}
    assert {"For", "BufferStore", "Evaluate", "FloorMod", "LE", "TensorLoad", "Call"} <= read
    assert read <= shown


def nodes_read_by(reader: str) -> Iterator[str]:
    """The nodes that a module tells apart: by `isinstance`, by `is`, by the keys of a table."""
    for node in ast.walk(ast.parse(getsource(import_module(f"npu_target.{reader}")))):
        found: list[ast.expr] = []
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            found = [node.args[1]]
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is):
            found = node.comparators
        elif isinstance(node, ast.Dict):
            found = [key for key in node.keys if key is not None]
        for part in found:
            for named in part.elts if isinstance(part, ast.Tuple) else [part]:
                name = named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")
                cls = getattr(tirx, name, None) or getattr(tvm.ir, name, None)
                if isinstance(cls, type):
                    yield name


PLACES = sorted(set(re.findall(r"`([a-z_.]+):([\w.]+)`", PAGE)))


@pytest.mark.parametrize(("module", "name"), PLACES, ids=":".join)
def test_what_is_named_exists(module, name):
    owner, _, attribute = name.rpartition(".")
    if not owner:
        assert resolve_name(f"npu_target.{module}:{name}") is not None
        return
    cls = resolve_name(f"npu_target.{module}:{owner}")
    fields = getattr(cls, "_fields", ())
    if dataclasses.is_dataclass(cls):
        fields = [field.name for field in dataclasses.fields(cls)]
    source = getsource(cls)
    assert attribute in fields or hasattr(cls, attribute) or f"self.{attribute}" in source
