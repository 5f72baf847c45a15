"""The compiler's place in TVM: ``target.build.ext_dev`` and the lowering pipeline ``npu``, with
``npu-O0`` and the other named pipelines.

A PrimFunc whose target is ``ext_dev`` becomes a program in a runtime module of kind ``npu``; all
other functions take TVM's own way to the host.  Both ``tvm.compile(..., tir_pipeline="npu")``
and ``relax.build(..., tir_pipeline="npu")`` then work unchanged.
``_register.py`` makes both known.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.target import Target

from .codegen_tir import PIPELINE, build_program
from .device_api import create_module
from .pack_constants import scheduled
from .pipeline_options import PipelineOptions
from .target import config_of

_KIND = "ext_dev"


def build_device_module(mod: IRModule, target: Target) -> Any:
    """Compile scheduled functions for the device that ``target`` names.

    Raises
    ------
    CodegenError, DoesNotFit
        naming the function and what is wrong with its schedule.
    """
    config = config_of(target)
    programs = {}
    for var, func in mod.functions.items():
        name = str(func.attrs["global_symbol"]) if func.attrs else var.name_hint
        options = _options(func)
        programs[name] = build_program(scheduled(func), config, name, None, options).to_bytes()
    return create_module(programs)


def npu_pipeline(options: PipelineOptions | None = None) -> tuple[tvm.transform.Pass, Any, Any]:
    """The pipeline and its finalizers, as TVM's registry of pipelines wants them: device functions
    that do not ask for other optimizations themselves get these."""
    host_pipeline, finalize_host, _ = tirx.get_tir_pipeline("s_tir")

    @tvm.transform.module_pass(opt_level=0, name="npu_pipeline")
    def lower_host_functions(mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Lower what the host runs; device functions are lowered by their code generator."""
        device = {
            var: _asking(func, options) for var, func in mod.functions.items() if _is_device(func)
        }
        host = {var: func for var, func in mod.functions.items() if var not in device}
        lowered = host_pipeline(IRModule(host, attrs=mod.attrs))
        lowered.update(IRModule(device))
        return lowered

    def finalize_device() -> tvm.transform.Pass:
        return tvm.transform.Sequential([])

    return lower_host_functions, finalize_host, finalize_device


def _asking(func: tirx.PrimFunc, options: PipelineOptions | None) -> tirx.PrimFunc:
    if options is None or _options(func) is not None:
        return func
    return func.with_attr(PIPELINE, str(options))


def _options(func: tirx.PrimFunc) -> PipelineOptions | None:
    """What a function asks for, or the one that it carries."""
    texts = [each.attrs.get(PIPELINE) for each in (func, scheduled(func)) if each.attrs]
    return next((PipelineOptions.parse(str(text)) for text in texts if text is not None), None)


def _is_device(func: Any) -> bool:
    target = func.attrs.get("target") if func.attrs else None
    return target is not None and target.kind.name == _KIND
