"""An exported program of PyTorch, loaded, of static shapes, in few operators."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FrontendError
from ..foreign import first_line, refusing
from .archive import safe_archive

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node

_INPUT_TYPES = ("float32", "int64", "int32", "int8", "uint8", "bool")
# What a network may make out of nothing, such as a mask: the import computes it.
_MOST_MADE_ELEMENTS = 1 << 24


def load_program(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> ExportedProgram:
    """The program in a file, with weights that are numbers and inputs of these shapes.

    Raises
    ------
    FrontendError
        for a file that is no such program or damaged, open shapes and shapes that do not fit,
        inputs and weights of other types than can be imported, state, and training mode.
    """
    archive = safe_archive(path)
    import torch

    # Registers the operators that quantized programs have.
    import torch.ao.quantization.fx._decomposed

    # The archive is checked, not its sense: PyTorch says by any error that there is none.
    with _quiet(), refusing(_failure(path, "load the program")):
        program = torch.export.load(archive)
    _check_weights(path, program)
    _check_mode(path, program)
    program = _with_shapes(path, program, shapes)
    _check_sizes(path, program)
    decompositions = _decompositions()
    # Each operator runs on shapes alone, and refuses what it is called with by any error.
    with _quiet(), refusing(_failure(path, "trace the program")):
        program = program.run_decompositions(decompositions)
    _check_state(path, program)
    return program


def user_inputs(program: ExportedProgram) -> dict[str, Node]:
    """The nodes of the arguments that are tensors, by name, in order."""
    names = set(program.graph_signature.user_inputs)
    return {
        node.name: node
        for node in program.graph.nodes
        if node.op == "placeholder"
        and node.name in names
        and hasattr(node.meta.get("val"), "shape")
    }


def module_of(node: Node) -> str:
    """The path of the module that an operation is part of, "" for the network's own."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return str(stack[-1][0]) if stack else ""


def _decompositions() -> Any:
    """PyTorch's own, but for operators that are better taken whole."""
    import torch
    from torch.export import default_decompositions

    table = default_decompositions()
    aten = torch.ops.aten
    for operator in (
        aten.linear.default,
        aten.matmul.default,
        aten.scaled_dot_product_attention.default,
        aten.upsample_nearest2d.vec,
        aten.upsample_bilinear2d.vec,
    ):
        table.pop(operator, None)
    return table


def _with_shapes(
    path: Path, program: ExportedProgram, shapes: Mapping[str, tuple[int, ...]]
) -> ExportedProgram:
    """The program exported anew where a shape is open."""
    import torch

    inputs = user_inputs(program)
    unknown = [name for name in shapes if name not in inputs]
    if unknown:
        raise FrontendError(f"{path}: has no input {unknown[0]!r}; there are: {', '.join(inputs)}")
    open_shapes = False
    for name, node in inputs.items():
        value = node.meta["val"]
        if str(value.dtype).removeprefix("torch.") not in _INPUT_TYPES:
            raise FrontendError(
                f"{path}: the input {name} is {value.dtype}; export the network in float32 "
                "(module.float())"
            )
        static = all(isinstance(extent, int) for extent in value.shape)
        open_shapes |= not static
        if not static and name not in shapes:
            raise FrontendError(
                f"{path}: the input {name} has the open shape {_shape(value.shape)}; fix it by "
                f"--shape {name}={_example(value.shape)}"
            )
        if name in shapes and not _fits(shapes[name], value.shape):
            raise FrontendError(
                f"{path}: the input {name} is {_shape(value.shape)}, it cannot be "
                f"{_shape(shapes[name])}"
            )
    if not open_shapes:
        return program
    leaves = []
    for spec in program.graph_signature.input_specs:
        if spec.kind is not torch.export.graph_signature.InputKind.USER_INPUT:
            continue
        if spec.arg.name in inputs:
            value = inputs[spec.arg.name].meta["val"]
            shape = shapes.get(spec.arg.name, tuple(value.shape))
            leaves.append(torch.zeros(shape, dtype=value.dtype))
        else:
            leaves.append(getattr(spec.arg, "value", None))
    given = ", ".join(f"{name}={_shape(shape)}" for name, shape in shapes.items())
    # It is traced anew: as above.
    refused = refusing(lambda e: f"{path}: the program cannot have {given}: {first_line(e)}")
    with _quiet(), refused:
        args, kwargs = torch.utils._pytree.tree_unflatten(leaves, program.call_spec.in_spec)
        return torch.export.export(program.module(), tuple(args), dict(kwargs))


def _check_weights(path: Path, program: ExportedProgram) -> None:
    import torch

    metas = {node.name: node.meta.get("val") for node in program.graph.nodes}
    tensors = {**program.state_dict, **program.constants}
    for spec in program.graph_signature.input_specs:
        if spec.target is None or spec.kind is torch.export.graph_signature.InputKind.USER_INPUT:
            continue
        tensor, meta = tensors.get(spec.target), metas.get(spec.arg.name)
        if tensor is None or meta is None:
            raise FrontendError(f"{path}: {spec.target} is missing, the file is damaged")
        if tensor.shape != meta.shape or tensor.dtype != meta.dtype:
            raise FrontendError(
                f"{path}: {spec.target} is {tensor.dtype} {_shape(tensor.shape)}, the program has "
                f"it as {meta.dtype} {_shape(meta.shape)}: the file is damaged"
            )
        if tensor.dtype in (torch.float16, torch.bfloat16, torch.float64):
            raise FrontendError(
                f"{path}: {spec.target} is {tensor.dtype}; export the network in float32 "
                "(module.float())"
            )
        if not tensor.is_floating_point():
            continue
        bad = torch.isnan(tensor)
        # A mask may be infinite, a weight may not.
        if spec.kind is torch.export.graph_signature.InputKind.PARAMETER:
            bad |= torch.isinf(tensor)
        if bool(bad.any()):
            raise FrontendError(
                f"{path}: {spec.target} has {int(bad.sum())} values that are not finite"
            )


def _check_mode(path: Path, program: ExportedProgram) -> None:
    for node in program.graph.nodes:
        name = getattr(node.target, "__name__", "")
        training = name.startswith("batch_norm") and len(node.args) > 5 and node.args[5] is True
        if training or (name.startswith("dropout") and node.args[2:] == (True,)):
            raise FrontendError(
                f"{path}: {node.name} is in training mode; call .eval() before exporting"
            )


def _check_state(path: Path, program: ExportedProgram) -> None:
    """What is changed in place is told after decompositions alone."""
    signature = program.graph_signature
    changed = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
    if changed:
        raise FrontendError(
            f"{path}: the network changes {', '.join(changed)}; make what is kept from "
            "one call to the next an input and an output"
        )


def _check_sizes(path: Path, program: ExportedProgram) -> None:
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if node.op != "call_function" or node.all_input_nodes or not hasattr(value, "shape"):
            continue
        if math.prod(value.shape) > _MOST_MADE_ELEMENTS:
            raise FrontendError(
                f"{path}: {node.name} makes a constant of the shape {_shape(value.shape)}; make "
                "it smaller, or an input"
            )


def _fits(shape: tuple[int, ...], wanted: Any) -> bool:
    return len(shape) == len(wanted) and all(
        extent == there or (extent > 0 and not isinstance(there, int))
        for extent, there in zip(shape, wanted, strict=True)
    )


def _shape(extents: Any) -> str:
    return "(" + ", ".join(str(extent) for extent in extents) + ")"


def _example(extents: Any) -> str:
    """A shape to give: 1 or 224 for what is open, after where it is."""
    return ",".join(
        str(extent) if isinstance(extent, int) else ("1" if axis == 0 else "224")
        for axis, extent in enumerate(extents)
    )


def _failure(path: Path, what: str) -> Callable[[Exception], str]:
    import torch

    return lambda error: f"{path}: PyTorch {torch.__version__} cannot {what}: {first_line(error)}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what PyTorch logs and warns about: the error that comes says it."""
    logger = logging.getLogger("torch.export")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
