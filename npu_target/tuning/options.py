"""Options that tune.py and npu_target.build share, and how their errors reach the user."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..device import DEFAULT_DEVICE, presets
from ..pipeline_options import DEFAULT, PIPELINES, PipelineError, PipelineOptions, flags
from .routes import BESIDE, ROUTES

DEFAULT_LOGS = Path("tuning_logs")
# How long a candidate may take: simulated, and where a command of the user's runs it.
_SIMULATED_SECONDS = 30.0
_EXTERNAL_SECONDS = 600.0
INTERRUPTED = 130  # the exit code that a shell expects after Ctrl-C


def default_timeout(runner: str) -> float:
    """Seconds that a candidate may take where the user has given none."""
    return _EXTERNAL_SECONDS if runner else _SIMULATED_SECONDS


def add_network_options(parser: argparse._ActionsContainer) -> None:
    """Which model for which device."""
    parser.add_argument(
        "--model",
        required=True,
        metavar="NAME|FILE",
        help="the network: resnet18, resnet50, mobilenet_v2, bert_base, or matmuls, or a file of "
        "another framework (see docs/importing.md)",
    )
    add_shape_option(parser)
    parser.add_argument(
        "--weights",
        type=Path,
        metavar="FILE",
        help="its weights, a .npz, .safetensors or .pt file with the names and shapes of "
        "torchvision's state_dict, BERT's those of Hugging Face's BertModel (default: drawn from "
        "--weights-seed)",
    )
    parser.add_argument(
        "--weights-seed",
        type=int,
        default=0,
        metavar="N",
        help="where to draw weights and calibration images from when no files are given "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--calibrate",
        type=Path,
        nargs="+",
        default=[],
        metavar="PATH",
        help="what to quantize a network in float with: images, and for one from a file any "
        "inputs, as .npy, .npz or a folder of such (default: drawn from --weights-seed, for which "
        "cycles are right and outputs are not)",
    )
    _add_numerics_options(parser)
    parser.add_argument(
        "--device",
        default=DEFAULT_DEVICE,
        metavar="NAME|FILE",
        help=f"a preset's name ({', '.join(presets())}) or a file that DeviceConfig.save wrote "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--logs",
        type=Path,
        default=DEFAULT_LOGS,
        metavar="DIR",
        help="tuning logs are in DIR/<device>/<model>/ (default: %(default)s)",
    )
    parser.add_argument(
        "--runner",
        default="",
        metavar="NAME",
        help="by what measures under this name, see rpc_server.server --run-with, instead of the "
        "simulator: tuning logs are in DIR/<device>@NAME/<model>/",
    )


def _add_numerics_options(parser: argparse._ActionsContainer) -> None:
    """Exact or fast, and for which layers otherwise: `numerics.NumericsOptions`."""
    parser.add_argument(
        "--numerics",
        choices=("exact", "fast"),
        default="exact",
        help="of a network that comes quantized: compute on the device only what is equal to the "
        "last bit, or all that it can come near to (default: %(default)s)",
    )
    for name, text in (
        ("--host", "leave a layer on the host, all of it"),
        ("--on-device", "compute a layer on the device, even where results differ"),
        ("--exact", "let no result of a layer differ"),
    ):
        parser.add_argument(
            name,
            action="append",
            default=[],
            metavar="LAYER",
            help=f"{text}; may be given several times, and a wrong name gets the near ones",
        )
    parser.add_argument(
        "--all-on-device",
        action="store_true",
        help="fail with the list of what the host would compute, if that is anything",
    )


def add_shape_option(parser: argparse._ActionsContainer) -> None:
    """What a network's file may leave open."""
    parser.add_argument(
        "--shape",
        type=_shape,
        action=_Shapes,
        default=[],
        metavar="NAME=N,...",
        help="the shape of an input that the file leaves open, such as x=1,3,224,224; once for "
        "each input",
    )


def add_routes_option(parser: argparse._ActionsContainer, text: str) -> None:
    """Whether the device's routes count."""
    parser.add_argument(
        "--routes", choices=ROUTES, default=BESIDE, help=f"{text} (default: %(default)s)"
    )


def add_production_options(parser: argparse._ActionsContainer) -> None:
    """What a network's production takes from the logs, and how it compiles."""
    parser.add_argument(
        "--require-tuned",
        action="store_true",
        help="fail where the logs have no schedule for a layer",
    )
    add_routes_option(
        parser,
        "take the device's routes, ways to compute a layer without a schedule, such as its "
        "vendor's library, where the logs have one that is faster, nowhere, or wherever one serves "
        "a layer",
    )
    add_pipeline_option(parser)


def add_output_options(parser: argparse._ActionsContainer) -> None:
    """What to leave behind and to print besides."""
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the final table for machines as well"
    )
    parser.add_argument(
        "--dump",
        type=Path,
        metavar="DIR",
        help="leave each layer's program in DIR, with its input, weights and expected output as "
        ".npy files and a .json file that tells the arguments and their addresses",
    )
    add_explain_option(parser)
    parser.add_argument(
        "--explain-schedule",
        action="store_true",
        help="print for each layer's program where its copies are placed between the array's "
        "steps, and for those that no steps hide why, and what that costs",
    )


def add_explain_option(parser: argparse._ActionsContainer) -> None:
    """Whether to say what runs where."""
    parser.add_argument(
        "--explain", action="store_true", help="print for each operation where it runs and why"
    )


def add_pipeline_option(parser: argparse._ActionsContainer) -> None:
    """How to compile."""
    parser.add_argument(
        "--pipeline",
        type=_pipeline,
        default=DEFAULT,
        metavar="NAME[,+FLAG][,-FLAG]",
        help=f"compile with these optimizations: {', '.join(PIPELINES)}, then flags to switch on "
        f"or off, such as O0,+overlap; flags: {', '.join(flags())} (default: %(default)s, all)",
    )


def add_print_options(parser: argparse._ActionsContainer) -> None:
    """What to show of compiling."""
    parser.add_argument(
        "--print-ir-after",
        action="append",
        default=[],
        metavar="PASS",
        help="show what a stage of the compiler leaves: TensorIR, statements, placed operations, "
        "program, commands; may be given several times, 'all' is every stage, and a wrong name "
        "gets the list",
    )
    parser.add_argument(
        "--print-ir-to",
        type=Path,
        metavar="DIR",
        help="write that into files in DIR/<layer>/ instead of printing it",
    )


class _Shapes(argparse.Action):
    """Appends; of one input there is one shape."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        given = getattr(namespace, self.dest)
        name, _ = values
        if name in dict(given):
            raise argparse.ArgumentError(self, f"input {name!r} is given two shapes")
        setattr(namespace, self.dest, [*given, values])


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, equals, numbers = text.rpartition("=")
    parts = numbers.split(",")
    if not (name and equals and all(part.isdecimal() and int(part) > 0 for part in parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is no shape; write NAME=1,3,224,224")
    return name, tuple(map(int, parts))


def _pipeline(text: str) -> PipelineOptions:
    try:
        return PipelineOptions.parse(text)
    except PipelineError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def report_errors(run: Callable[[], int]) -> int:
    """`run()`, but a user's error becomes one line on stderr and exit code 1."""
    try:
        errors = _user_errors()
    except ImportError as error:
        return _fail(f"{error}; install the package with what it needs: pip install -e .")
    try:
        return run()
    except errors as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return INTERRUPTED


def _fail(message: str) -> int:
    print("error: " + " ".join(message.split("\n")), file=sys.stderr)
    return 1


def _user_errors() -> tuple[type[Exception], ...]:
    """Exceptions whose text is for the user."""
    from rpc_server.address import AddressError
    from rpc_server.process import ProcessError
    from rpc_server.tracker_client import TrackerError

    from ..codegen_tir import CodegenError, DoesNotFit
    from ..device import ConfigError
    from ..frontend import FrontendError
    from ..inputs import InputsError
    from ..models import ModelError
    from ..numerics import NumericsError
    from ..quantize import QuantizeError
    from ..relax_graph import GraphError
    from ..stages import StageError
    from ..topi import OperatorError
    from .errors import TuningError

    return (
        AddressError,
        CodegenError,
        ConfigError,
        DoesNotFit,
        FrontendError,
        GraphError,
        InputsError,
        ModelError,
        NumericsError,
        OperatorError,
        ProcessError,
        QuantizeError,
        StageError,
        TrackerError,
        TuningError,
    )
