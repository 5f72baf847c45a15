"""`python -m npu_target.accuracy`: what a device's numbers cost a network, layer by layer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..pipeline_options import DEFAULT
from ..tuning.options import add_network_options, report_errors
from ..tuning.routes import BESIDE

if TYPE_CHECKING:
    from ..inputs import Samples
    from ..tuning.choose import Chooser
    from ..tuning.network import Network, Progress
    from .choices import Choices
    from .report import Report


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m npu_target.accuracy",
        description="Run a network on this host by the device's numbers and by those it should "
        "have, and print for each layer how far they are apart: of a network that comes quantized "
        "its own integers, of one in float the float network. Exits with 0 whatever is found.",
    )
    add_network_options(result.add_argument_group("network"))
    inputs = result.add_argument_group("inputs and output")
    inputs.add_argument(
        "--inputs",
        type=Path,
        required=True,
        metavar="PATH",
        help="what to run it on: images, .npy and .npz files, or a folder of such",
    )
    inputs.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="the right class of each input, a number a line, for top-1 and top-5",
    )
    inputs.add_argument(
        "--cycles",
        action="store_true",
        help="of a network that comes quantized, print what to choose layers by instead: for each "
        "what it costs exactly, and what by the device's own numbers, which differ by so much; "
        "cycles are those of the tuning logs' schedules, else of the default ones",
    )
    inputs.add_argument("--json", type=Path, metavar="FILE", help="write the table for machines")
    # Cycles are those of what `npu_target.build` makes when it is not told otherwise.
    result.set_defaults(require_tuned=False, routes=BESIDE, pipeline=DEFAULT)
    return result


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return report_errors(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    from ..inputs import read_inputs
    from ..tuning.errors import TuningError
    from ..tuning.models import asked_model, inputs_of
    from ..tuning.network import asked_network
    from ..tuning.production import production
    from ..tuning.report import check_can_write, make_console, write_json
    from .choices_report import choices_json, print_choices
    from .ranks import read_labels
    from .report import print_report, to_json

    wanted = production(options, "python -m npu_target.accuracy")
    if options.json is not None:
        check_can_write(options.json)
    console = make_console()
    with console.status(f"loading {options.model}") as status:
        model = asked_model(options)
        samples = read_inputs(options.inputs, inputs_of(model))
        labels = None if options.labels is None else read_labels(options.labels, len(samples))
        network = asked_network(options, wanted.config, status.update, model)
        if not options.cycles:
            report = _report(network, samples, labels)
        elif network.decided is not None:
            found = _choices(network, wanted.chooser, options, samples, labels, status.update)
        else:
            raise TuningError(
                f"{options.model} is in float, its numbers are the device's, there is nothing to "
                "choose: --cycles is for networks that come quantized; what layers cost, "
                "python -m npu_target.build prints"
            )
    if options.cycles:
        print_choices(console, found)
    else:
        print_report(console, report)
    if options.json is not None:
        write_json(options.json, choices_json(found) if options.cycles else to_json(report))
    return 0


def _report(network: Network, samples: Samples, labels: Sequence[int] | None) -> Report:
    from ..numerics.differences import differences
    from ..numerics.float_differences import float_differences
    from .ranks import Ranks
    from .report import ITS_INTEGERS, Report, Row

    ranks = Ranks(labels)
    if network.decided is not None:
        reference = ITS_INTEGERS
        found = differences(network.decided, samples, ranks.add)
        rows = [Row.of(each) for each in found.layers]
        outputs = found.outputs
    else:
        reference = "the float network"
        on_device = {region.name for region in network.partitioned.regions}
        apart = float_differences(network.model.mod, network.quantized, samples, ranks.add)
        rows = [
            Row(
                name,
                "device" if name in on_device else "host",
                "int8",
                "",
                each.alone,
                each.accumulated,
            )
            for name, each in apart.tensors.items()
        ]
        outputs = apart.outputs
    names = network.model.name, network.config.name, reference
    return Report(*names, len(samples), tuple(rows), outputs, ranks)


def _choices(
    network: Network,
    chooser: Chooser,
    options: argparse.Namespace,
    samples: Samples,
    labels: Sequence[int] | None,
    progress: Progress,
) -> Choices:
    from ..tuning.models import FileModel
    from ..tuning.network import asked_numerics, decide_layers
    from .choices import choices

    model, config = network.model, network.config
    assert isinstance(model, FileModel)
    return choices(
        model.name,
        config,
        lambda numerics: decide_layers(model, config, numerics),
        asked_numerics(options),
        chooser,
        samples,
        labels,
        progress,
    )
