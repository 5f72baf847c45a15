"""`python -m npu_target.tuning repair FOLDER`: keep what is readable of damaged logs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m npu_target.tuning")
    commands = parser.add_subparsers(dest="command", required=True)
    repairing = commands.add_parser(
        "repair",
        help="drop the lines of tuning logs that cannot be used, keep the rest",
        description="Drop the lines of tuning logs that cannot be used, keep the rest. Changed "
        "files are kept in their old form beside the new one, with .broken at their end.",
    )
    repairing.add_argument("folder", type=Path, help="such as tuning_logs/gemmini-16x16/resnet18")
    repairing.add_argument(
        "--device", help="only where header.json is lost: the device the logs were made for"
    )
    repairing.add_argument("--model", help="only where header.json is lost: the model")
    options = parser.parse_args(arguments)

    from ..config import ConfigError, NpuConfig
    from .errors import LogError
    from .repair import repair

    try:
        config = NpuConfig.find(options.device) if options.device else None
        results = repair(options.folder, config, options.model)
    except (ConfigError, LogError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for result in results:
        print(f"{result.file}: {result.kept} lines kept, {result.dropped} dropped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
