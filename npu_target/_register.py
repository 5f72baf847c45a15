"""What TVM runs at the end of `import tvm`: registers this package's tags, device and compiler.

A leaf module: it may run while any other module of the package is half imported, because that
module has just imported TVM. It must not import those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from .pipeline_options import PIPELINES, PipelineOptions
from .tags import register_tags

if TYPE_CHECKING:
    from .device import DeviceKind


def register() -> None:
    """Register the tags and the compiler, then load the device library and register simulators.

    Raises LibraryMissing, which TVM turns into a warning, when the library was not built; its text
    says how to.
    """
    register_tags()
    _register_compiler()
    _register_intrinsics()
    # Imports TVM, so not before register() is called: by then TVM is there.
    from .device_api._library import load_library

    load_library()
    _register_simulators()


def _register_simulators() -> None:
    """Those of installed kinds that have one in Python, imported at its first use."""
    from .device import kinds
    from .device_api.simulators import register_simulator

    for kind in kinds().values():
        if kind.simulator_at is not None:
            register_simulator(kind.name, _simulator_of(kind))


def _simulator_of(kind: DeviceKind) -> Callable[[Any], Mapping[str, int]]:
    return lambda run: kind.simulate(run)


def _register_compiler() -> None:
    """Under TVM's names for them, what compiles for the device; imported at its first use, since
    most programs that import TVM compile nothing for it."""
    import tvm_ffi
    from tvm import tirx

    def build(mod: Any, target: Any) -> Any:
        from .wiring import build_device_module

        return build_device_module(mod, target)

    def pipeline(options: PipelineOptions | None = None) -> Any:
        from .wiring import npu_pipeline

        return npu_pipeline(options)

    tvm_ffi.register_global_func("target.build.ext_dev", build, override=True)
    tirx.register_tir_pipeline("npu", pipeline)
    for name, options in PIPELINES.items():
        tirx.register_tir_pipeline(f"npu-{name}", partial(pipeline, options))


def _register_intrinsics() -> None:
    """Those that logs name, so that TVM's own databases read them."""
    import importlib

    # Registers them at its end. Where it is what has just imported TVM, it does so later.
    importlib.import_module(".intrin", __package__)
