"""From an exported program to Relax: TVM's importer, with operators of ours and names kept."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tvm import relax
from tvm.ir import IRModule

from ...relax_graph import Graph, rebuild, substitute
from ..errors import FrontendError
from ..foreign import called_back, first_line, refusing
from .converters import CONVERTERS, arguments_of
from .program import module_of
from .quantized import NUMBERS, QUANTIZED

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node

# Operators of which one result is given, not a tuple of them.
_FIRST_RESULT = (
    "max_pool2d_with_indices.default",
    "native_layer_norm.default",
    "_native_batch_norm_legit_no_training.default",
)


@dataclass
class Converted:
    """A program in Relax, images as PyTorch has them, NCHW.

    quantized : whether it has integers and their scales in it.
    origins : what a variable is in the program, by its name.
    """

    mod: IRModule
    quantized: bool
    origins: Mapping[str, str]


def convert(path: Path, program: ExportedProgram) -> Converted:
    """The function ``main`` of a program.

    Raises
    ------
    FrontendError
        for an operator that is not known or is used in a way that has no form in Relax.
    """
    from tvm.relax.frontend.torch import from_exported_program

    nodes = [node for node in program.graph.nodes if node.op == "call_function"]
    names = {node.target.__name__ for node in nodes}
    operations = Counter(module_of(node) for node in nodes if node.target is not operator.getitem)
    own = {**program.state_dict, **program.constants}
    tensors = {
        spec.arg.name: own[spec.target]
        for spec in program.graph_signature.input_specs
        if spec.target in own
    }
    translation = _Translation(path, tensors, operations)
    converters = {name: translation.convert for name in names}
    with refusing(lambda error: f"{path}: cannot be imported: {first_line(error)}"):
        mod = from_exported_program(
            program,
            custom_convert_map=converters,
            run_ep_decomposition=False,
            unwrap_unit_return_tuple=True,
        )
    return translation.named(mod, not names.isdisjoint(QUANTIZED))


@dataclass
class _Translation:
    """What happens to each operation, and what it is called afterwards."""

    path: Path
    tensors: Mapping[str, Any]  # The program's own, by the name of their node.
    # How many operations each module has.
    _operations: Counter[str]
    _names: dict[str, tuple[str, str]] = field(default_factory=dict)
    _known: dict[str, Callable[[Node], Any]] = field(default_factory=dict)

    def convert(self, node: Node, importer: Any) -> Any:
        """The result of a node, its errors told with their place."""
        with called_back():
            module = module_of(node)
            place = f"{self.path}: {node.name}" + (f" (module {module})" if module else "")
            return self._converted(node, importer, node.target.__name__, place)

    def _converted(self, node: Node, importer: Any, name: str, place: str) -> Any:
        label, origin = self._label(node), _origin(node)
        of_tvm = partial(refusing, lambda error: f"{place}: the operator {name} {error}")

        def emit(value: relax.Expr, part: str = "") -> relax.Var:
            # TVM finds the type here, and says what it dislikes by many kinds of error.
            with of_tvm():
                var = importer.block_builder.emit(value)
            self._names[var.name] = (f"{label}_{part}" if part else label, origin)
            return var

        try:
            if name in CONVERTERS:
                return CONVERTERS[name](arguments_of(node, importer.env), emit)
            if name in QUANTIZED:
                return QUANTIZED[name](arguments_of(node, self._with_numbers(node, importer)), emit)
        except FrontendError:
            raise
        except ValueError as error:
            raise FrontendError(f"{place}: the operator {name} {error}") from error
        if name == "getitem" and node.args[0].target.__name__ in _FIRST_RESULT:
            if node.args[1] != 0:
                raise FrontendError(
                    f"{place}: result {node.args[1]} of {node.args[0].target.__name__} is not "
                    "computed; leave it out of the network"
                )
            return importer.env[node.args[0]]
        if not self._known:
            self._known = importer.create_convert_map()
        if name not in self._known:
            raise FrontendError(
                f"{place}: the operator {name} is not known; write it in others, or leave it out "
                "of what is exported"
            )
        with of_tvm():
            value = self._known[name](node)
        if isinstance(value, relax.Var):
            self._names.setdefault(value.name, (label, origin))
        return value

    def _with_numbers(self, node: Node, importer: Any) -> Mapping[Node, Any]:
        """The values so far, scales and zero points of a node as arrays."""
        values = dict(importer.env)
        for schema, given in zip(node.target._schema.arguments, node.args, strict=False):
            if schema.name in NUMBERS and given is not None:
                if given.name not in self.tensors:
                    raise ValueError(
                        "has scales that are computed at run time; quantize statically"
                    )
                values[given] = self.tensors[given.name].detach().numpy()
        return values

    def _label(self, node: Node) -> str:
        """A name for what a node gives: its module's, if it is the module's one operation."""
        if node.op == "call_function" and node.target.__name__ in QUANTIZED:
            return self._label(node.args[0])  # The value's own.
        module = module_of(node)
        if module and self._operations[module] == 1:
            return _identifier(module)
        return _identifier(f"{module}.{node.name}" if module else node.name)

    def named(self, mod: IRModule, quantized: bool) -> Converted:
        """``mod`` with variables that are called after the program's modules."""
        graph = Graph(mod)
        taken = {param.name for param in graph.params}
        origins: dict[str, str] = {}

        def emit(
            builder: relax.BlockBuilder, var: relax.Var, values: dict[relax.Var, relax.Expr]
        ) -> None:
            base, origin = self._names.get(var.name, (var.name, ""))
            name, count = base, 1
            while name in taken:
                name, count = f"{base}_{count}", count + 1
            taken.add(name)
            values[var] = builder.emit(substitute(graph.value[var], values), name)
            if origin:
                origins[values[var].name] = origin

        return Converted(rebuild(graph, emit), quantized, origins)


def _origin(node: Node) -> str:
    module = module_of(node)
    return f"{module} ({node.name})" if module else node.name


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)
