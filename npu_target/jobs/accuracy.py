"""What a device's numbers cost a network, layer by layer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..accuracy.choices import Choices, choices
from ..accuracy.choices_report import choices_json, print_choices
from ..accuracy.ranks import Ranks, read_labels
from ..accuracy.report import ITS_INTEGERS, Report, Row, print_report, to_json
from ..files import check_can_write
from ..html_report.available import check_can_report
from ..html_report.documents import accuracy_document
from ..html_report.page import write_page
from ..inputs import Samples, read_inputs
from ..numerics.differences import differences
from ..numerics.float_differences import float_differences
from ..tuning.choose import Chooser
from ..tuning.errors import TuningError
from ..tuning.models import FileModel, asked_model, inputs_of
from ..tuning.network import Network, Progress, asked_network, asked_numerics, decide_layers
from ..tuning.production import production
from ..tuning.report import make_console, write_json
from .errors import UsageError


def run(options: argparse.Namespace) -> int:
    wanted = production(options, options.command_line)
    if options.json is not None:
        check_can_write(options.json)
    if options.report is not None:
        if options.cycles:
            raise UsageError("--report shows how far results are apart, --cycles something else")
        check_can_report(options.report)
    console = make_console()
    with console.status(f"loading {options.model}") as status:
        model = asked_model(options)
        samples = read_inputs(options.input, inputs_of(model))
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
                "npu-target build prints"
            )
    if options.cycles:
        print_choices(console, found)
    else:
        print_report(console, report)
    if options.json is not None:
        write_json(options.json, choices_json(found) if options.cycles else to_json(report))
    if options.report is not None:
        write_page(options.report, accuracy_document(report, wanted.config, options.command_line))
        console.print(f"wrote {options.report}", highlight=False, soft_wrap=True)
    return 0


def _report(network: Network, samples: Samples, labels: Sequence[int] | None) -> Report:
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
