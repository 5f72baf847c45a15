"""The lowering pipeline: scheduled TensorIR to plain loops around stores and device calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import tvm
import tvm_ffi
from tvm import s_tir, tirx

from ..device import DeviceConfig
from ..pipeline_options import DEFAULT, PipelineOptions
from .blocks import block_tiles
from .errors import CodegenError
from .padding import hide_padding, show_padding
from .pipelined import too_few_iterations, wrong_pipeline
from .runs import cut_into_runs
from .sources import separate_sources

# Structured blocks become loops over their own iterators, buffers shrink to the tile in use,
# matched buffers of tensor intrinsics resolve to addresses in their source.
_BLOCKS_TO_TILES = (
    s_tir.transform.CanonicalizeLoop(),
    s_tir.transform.LowerInitBlock(),
    s_tir.transform.PlanAndUpdateBufferAllocationLocation(),
    s_tir.transform.ConvertBlocksToOpaque(),
    s_tir.transform.CompactBufferAllocation(),
    s_tir.transform.LowerMatchBuffer(),
)
# Loads of the next tile move before the computes of this one; their buffers get versions.
_PREFETCHING = s_tir.transform.InjectSoftwarePipeline()
_TILES_TO_LOOPS = (
    s_tir.transform.LowerOpaqueBlock(),
    tirx.transform.StmtSimplify(),
)
# The names of all passes, in their order.
PASSES = (
    "npu.hide_padding",
    *(str(tvms.info.name) for tvms in (*_BLOCKS_TO_TILES, _PREFETCHING, *_TILES_TO_LOOPS)),
    "npu.show_padding",
    "npu.separate_sources",
    "npu.block_tiles",
    "npu.cut_into_runs",
)

# Characters of what TVM says, which goes on with the whole function.
_REASON = 200


class Lowered(NamedTuple):
    """Plain loops, and how many versions each pipelined buffer has (its first dimension)."""

    func: tirx.PrimFunc
    versions: dict[str, int]


Show = Callable[[str, tirx.PrimFunc], None]  # is given what each pass leaves, by its name


def lower(
    func: tirx.PrimFunc,
    config: DeviceConfig,
    options: PipelineOptions = DEFAULT,
    show: Show | None = None,
) -> Lowered:
    """A scheduled function as loops.  Buffers keep their dimensions: the allocator chooses the
    strides of the device's memories, so nothing is flattened.  Tiles are told apart by name.

    Raises
    ------
    CodegenError
        where TVM's passes refuse the schedule, such as a pipeline whose stages are out of order.
    """
    try:
        return _lowered(func, config, options, show)
    except CodegenError:
        raise
    except (ValueError, RuntimeError) as error:  # TVM's
        reason = wrong_pipeline(func)
        if reason is not None:
            raise CodegenError(reason) from error
        reason = " ".join(str(error).split())
        raise CodegenError(f"TVM does not lower the schedule: {reason[:_REASON]}") from error


def _lowered(
    func: tirx.PrimFunc, config: DeviceConfig, options: PipelineOptions, show: Show | None
) -> Lowered:
    def by_tvm(mod: tvm.IRModule, passes: Iterable[tvm.transform.Pass]) -> tvm.IRModule:
        for tvms in passes:
            mod = tvms(mod)
            if show is not None:
                show(str(tvms.info.name), mod["main"])
        return mod

    def tell(name: str, func: tirx.PrimFunc) -> None:
        if show is not None:
            show(name, func)

    func = hide_padding(func.with_attr("global_symbol", "main"))
    tell("npu.hide_padding", func)
    mod = by_tvm(tvm.IRModule({"main": func}), _BLOCKS_TO_TILES)
    buffers = [*_block_buffers(mod["main"]), *allocated_buffers(mod["main"])]
    ranks = {buffer.name: len(buffer.shape) for buffer in buffers}
    prefetching = (_PREFETCHING,) if options.prefetching else ()
    reason = too_few_iterations(mod["main"]) if prefetching else None
    if reason is not None:
        raise CodegenError(reason)
    func = by_tvm(mod, [*prefetching, *_TILES_TO_LOOPS])["main"]
    buffers = allocated_buffers(func)
    versions = {
        buffer.name: int(buffer.shape[0])
        for buffer in buffers
        if len(buffer.shape) > ranks[buffer.name]
    }
    func = show_padding(func)
    tell("npu.show_padding", func)
    func = separate_sources(func)
    tell("npu.separate_sources", func)
    func = block_tiles(func, buffers, versions, config)
    tell("npu.block_tiles", func)
    func = cut_into_runs(func, config)
    tell("npu.cut_into_runs", func)
    return Lowered(func, versions)


def allocated_buffers(func: tirx.PrimFunc) -> list[tirx.Buffer]:
    """The buffers that a lowered function allocates, in order."""
    found: list[tirx.Buffer] = []
    tvm_ffi.structural_walk(
        func.body, (tirx.AllocBuffer, lambda node: found.append(node.buffer)), order="pre"
    )
    return found


def _block_buffers(func: tirx.PrimFunc) -> list[tirx.Buffer]:
    found: list[tirx.Buffer] = []
    tvm_ffi.structural_walk(
        func.body, (s_tir.SBlock, lambda node: found.extend(node.alloc_buffers))
    )
    return found
