"""`python -m npu_target.build`: a network as one file that runs on the device and its host.

It tunes nothing. Layers that the tuning logs know get their fastest schedule, the others their
default one; the table says which. Each schedule's program is run once on the simulated device and
compared with NumPy's answer before it goes into the file.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from .tuning.options import (
    add_network_options,
    add_output_options,
    add_print_options,
    add_production_options,
    report_errors,
)

if TYPE_CHECKING:
    import tvm
    from tvm.s_tir import Schedule

    from .tuning.report import LayerResult


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m npu_target.build",
        description="Compile a network into a shared library that runs on the device and its "
        "host, with the schedules that tuning found (see tune.py). Tunes nothing itself. The "
        "file needs TVM and this package: python -m npu_target.run FILE --image IMAGE.",
    )
    result.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    add_network_options(result)
    add_production_options(result)
    add_output_options(result)
    add_print_options(result)
    return result


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return report_errors(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    from .stages import check_stages
    from .tuning.dump import check_can_dump, dump_regions
    from .tuning.explain_schedule import explain_schedules
    from .tuning.print_stages import print_stages
    from .tuning.production import choose, production
    from .tuning.report import check_can_write, make_console, to_json, write_json

    stages = check_stages(options.print_ir_after)
    wanted = production(options, "python -m npu_target.build")
    config, chooser, pipeline = wanted.config, wanted.chooser, options.pipeline
    for path in (options.output, options.json):
        if path is not None:
            check_can_write(path)
    for folder in (options.dump, options.print_ir_to):
        if folder is not None:
            check_can_dump(folder)
    console = make_console()
    network, results = choose(wanted, options, console)

    def schedule(result: LayerResult) -> Schedule:
        return chooser.schedule(result.layer.operator)

    if options.explain_schedule:
        explain_schedules(console, results, config, schedule, pipeline)
    print_stages(stages, options.print_ir_to, results, config, schedule, pipeline)
    with console.status(f"compiling {options.output}"):
        partitioned = network.with_kernels(chooser.device_function)
        export(compile_network(partitioned.mod), options.output)
    console.print(f"{chooser.n_checked} programs compute what NumPy does", highlight=False)
    if options.json is not None:
        more = {"runner": wanted.runner} if wanted.runner else {}
        write_json(options.json, to_json(results, config, model=options.model, **more))
    if options.dump is not None:
        dump_regions(options.dump, partitioned, chooser.schedule, config, pipeline)
    console.print(f"wrote {options.output}; tuning logs: {wanted.logs}", highlight=False)
    return 0


def compile_network(mod: tvm.ir.IRModule) -> tvm.runtime.Executable:
    """A partitioned module as an executable of the Relax virtual machine, its scheduled kernels
    for the device as programs inside, with their weights as they load them, the rest compiled for
    this host by LLVM."""
    import tvm
    from tvm import relax

    from .host import host_pipeline
    from .pack_constants import pack_constants

    target = tvm.target.Target("llvm")
    mod = pack_constants(mod)
    return relax.build(mod, target, relax_pipeline=host_pipeline(target), tir_pipeline="npu")


def export(executable: tvm.runtime.Executable, path: Path) -> None:
    """Write a shared library, beside `path` first. Raises TuningError where that fails."""
    from .tuning.errors import TuningError
    from .tuning.failure import last_line

    with tempfile.TemporaryDirectory(prefix=".npu-build-", dir=path.resolve().parent) as folder:
        library = Path(folder) / "network.so"
        try:
            executable.export_library(str(library))
            os.replace(library, path)
        except (RuntimeError, OSError) as error:
            raise TuningError(
                f"{path} cannot be made: {last_line(error)}; a C++ compiler (g++) is needed, and "
                "a folder that can be written"
            ) from error


if __name__ == "__main__":
    sys.exit(main())
