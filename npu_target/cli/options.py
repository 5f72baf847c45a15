"""Options that several commands have, each defined once."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..device import DEFAULT_DEVICE, presets
from ..pipeline_options import DEFAULT, PIPELINES, flags
from ..tuning.places import NO_LOGS, own_logs
from ..tuning.routes import BESIDE, ROUTES
from ..tuning.time_limits import default_timeout
from .parsers import AppendShape, address, at_least, pipeline, seconds, seed, shape

# What an operator is, wherever one is asked for.
_OPERATOR = (
    "such as 'conv2d(h=28, w=28, ci=128, co=128, k=3, pad=1)'; a wrong one gets the list of what "
    "there is"
)


def add_network_options(parser: argparse._ActionsContainer, or_operator: bool = False) -> None:
    """Which model, or with `or_operator` maybe one operator, for which device, and what is known of
    both."""
    add_model_options(parser, or_operator)
    add_device_option(parser)
    add_logs_options(parser)
    parser.add_argument(
        "--runner",
        default="",
        metavar="NAME",
        help="by what measures under this name, see npu-target serve devices --run-with, instead "
        "of the simulator: tuning logs are in DIR/<device>@NAME/<model>/",
    )


def add_model_options(parser: argparse._ActionsContainer, or_operator: bool = False) -> None:
    """Which model, and by which numbers."""
    what = parser.add_mutually_exclusive_group(required=True) if or_operator else parser
    what.add_argument(
        "--model",
        required=not or_operator,
        metavar="NAME|FILE",
        help="the network: resnet18, resnet50, mobilenet_v2, bert_base, or matmuls, or a file of "
        "another framework (see docs/importing.md)",
    )
    if or_operator:
        what.add_argument(
            "--op",
            metavar="OPERATOR",
            help=f"one operator alone instead, {_OPERATOR}",
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
        type=seed,
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


def add_operator_argument(parser: argparse._ActionsContainer) -> None:
    """One operator, as `--op` takes it."""
    parser.add_argument("operator", metavar="OPERATOR", help=f"one operator, {_OPERATOR}")


def add_device_option(
    parser: argparse._ActionsContainer, default: str | None = DEFAULT_DEVICE, text: str = ""
) -> None:
    """Which device; `text` says what it is by default where there is none to name."""
    parser.add_argument(
        "--device",
        default=default,
        metavar="NAME|FILE",
        help=f"a preset's name ({', '.join(presets())}) or a file that DeviceConfig.save wrote "
        f"(default: {text or '%(default)s'})",
    ).completer = _devices  # type: ignore[attr-defined]


def _devices(**_: object) -> list[str]:
    return list(presets())


def add_logs_options(parser: argparse._ActionsContainer) -> None:
    """Where tuning logs are."""
    add_logs_folder_option(
        parser,
        "your tuning logs are in DIR/<device>/<model>/; those that come with this package "
        f"count besides, and the faster one of both is taken; '{NO_LOGS}' is no logs at all",
    )
    parser.add_argument(
        "--own-logs-only",
        action="store_true",
        help="leave out the logs that come with this package",
    )


def add_logs_folder_option(parser: argparse._ActionsContainer, text: str) -> None:
    """Where one's own tuning logs are; `text` says what they are."""
    parser.add_argument(
        "--logs", default=None, metavar="DIR", help=f"{text} (default: {_shown(own_logs())})"
    )


def _shown(path: Path) -> str:
    """A path for a text that argparse formats."""
    home = Path.home()
    text = f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
    return text.replace("%", "%%")


def add_json_option(parser: argparse._ActionsContainer, what: str) -> None:
    """Results for programs."""
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help=f"write {what} for machines as well"
    )


def add_report_option(parser: argparse._ActionsContainer, what: str) -> None:
    """Results for people, to keep and to pass on."""
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help=f"write {what} as one HTML file that opens in any browser (see docs/report.md)",
    )


def add_output_option(
    parser: argparse._ActionsContainer, what: str, metavar: str = "FILE", required: bool = False
) -> None:
    """Where what a command makes goes."""
    parser.add_argument("-o", "--output", type=Path, required=required, metavar=metavar, help=what)


def add_input_option(parser: argparse._ActionsContainer) -> None:
    """What a network is run on."""
    parser.add_argument(
        "--input",
        type=Path,
        required=True,
        metavar="PATH",
        help="what to run it on: a BMP, PNG or JPEG file, or arrays: .npy, or .npz with one for "
        "each input by its name; or a folder of such",
    )


def add_servers_options(parser: argparse._ActionsContainer, or_runner: bool = True) -> None:
    """What measures: servers of one's own, or those of a tracker; with `or_runner` maybe others
    than simulators."""
    parser.add_argument(
        "--tracker",
        type=address,
        metavar="HOST:PORT",
        help="measure on the servers of this tracker (default: start a tracker and servers on "
        "loopback, and stop them afterwards)",
    )
    parser.add_argument(
        "--servers",
        type=at_least(1),
        metavar="N",
        help="how many servers to start, or to use of the tracker's (default: one per processor, "
        "or all of the tracker's)",
    )
    add_client_options(parser)
    add_timeout_option(
        parser,
        "after which a candidate counts as hung",
        f"{default_timeout(''):g}"
        + (f", with --runner {default_timeout('any'):g}" if or_runner else ""),
    )


def add_token_option(parser: argparse._ActionsContainer, what: str) -> None:
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help=f"{what} (default: the environment variable NPU_TARGET_TOKEN, where it is set)",
    )


def add_tls_ca_option(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--tls-ca",
        type=Path,
        metavar="FILE",
        help="speak TLS with the tracker and its servers, whose certificates one of these must "
        "have signed",
    )


def add_client_options(parser: argparse._ActionsContainer) -> None:
    """How a client shows itself to a tracker and its servers."""
    add_token_option(parser, "the token that the tracker and its servers ask for")
    add_tls_ca_option(parser)


def add_timeout_option(
    parser: argparse._ActionsContainer, what: str, shown: str, default: float | None = None
) -> None:
    """Real time; `shown` is the default in words."""
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=default,
        metavar="SECONDS",
        help=f"real time {what} (default: {shown})",
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
        type=shape,
        action=AppendShape,
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
    add_json_option(parser, "the final table")
    add_report_option(parser, "what each layer costs and why, with charts,")
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
        type=pipeline,
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
