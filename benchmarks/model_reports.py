"""Reports with a section for each model that has logs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from npu_target.cli.errors import report_errors
from npu_target.devices.gemmini import GemminiConfig
from npu_target.files import check_can_write, write_atomically
from npu_target.tuning.errors import TuningError
from npu_target.tuning.places import shipped_logs

# Of a model, by the folder of a device's logs and the device, in Markdown.
Section = Callable[[str, Path, GemminiConfig], str]


def report_models(
    program: str,
    doc: str,
    page: Path,
    head: Callable[[GemminiConfig], Sequence[str]],
    section: Section,
    arguments: Sequence[str] | None,
) -> int:
    """A benchmark's command line: writes its page, the lines of ``head`` and then the models.

    Returns
    -------
    The exit code: 1 where there are no logs, or the page cannot be written.
    """
    parser = argparse.ArgumentParser(prog=program, description=doc.partition("\n")[0])
    parser.add_argument("--logs", type=Path, default=shipped_logs(), help="as of tune.py")
    parser.add_argument("--output", type=Path, default=page, help="the report's file")
    options = parser.parse_args(arguments)

    def write() -> int:
        config = GemminiConfig()
        check_can_write(options.output)
        folder = options.logs / config.name
        models = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        if not models:
            raise TuningError(
                f"{folder} has no model's logs; tune one first: npu-target tune --model"
            )
        parts = []
        for model in models:
            print(model, flush=True)
            parts.append(section(model, folder, config))
        write_atomically(options.output, "\n".join([*head(config), "", *parts]).encode())
        return 0

    return report_errors(parser.prog, write)
