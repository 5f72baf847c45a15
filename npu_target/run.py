"""`python -m npu_target.run`: what a file made by `npu_target.build` says of an image."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .tuning.options import report_errors

if TYPE_CHECKING:
    import numpy as np


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m npu_target.run",
        description="Run a network that npu_target.build compiled, on the simulated device and "
        "this host, and print its best classes.",
    )
    result.add_argument("file", type=Path, help="what npu_target.build -o wrote")
    result.add_argument("--image", type=Path, required=True, help="a BMP, PNG or JPEG file")
    result.add_argument(
        "--model", default="resnet18", help="whose input the image becomes (default: %(default)s)"
    )
    result.add_argument(
        "--labels", type=Path, metavar="FILE", help="the classes' names, one a line"
    )
    result.add_argument("--top", type=int, default=5, metavar="N", help="(default: %(default)s)")
    result.add_argument(
        "--save", type=Path, metavar="FILE", help="write all outputs as a .npy file"
    )
    return result


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.top < 1:
        parser().error(f"--top must be at least 1, got {options.top}")
    return report_errors(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    import numpy as np

    from .models import get_model
    from .tuning.network import check_model
    from .tuning.report import check_can_write

    check_model(options.model)
    if options.save is not None:
        check_can_write(options.save)
    labels = _read_labels(options.labels)
    image = get_model(options.model).preprocess(options.image)
    scores = run_file(options.file, image)
    if options.save is not None:
        with options.save.open("wb") as file:
            np.save(file, scores)
    for index in np.argsort(-scores[0], kind="stable")[: options.top]:
        name = labels[index] if index < len(labels) else ""
        print(f"{index:5d}  {scores[0, index]:9.4f}  {name}".rstrip())
    return 0


def run_file(path: Path, inputs: np.ndarray) -> np.ndarray:
    """The first output of a compiled network for one input.

    Raises TuningError for a file that is none, or an input that does not fit it.
    """
    import tvm

    from . import device_api  # noqa: F401  the device must be there before its programs load
    from .host import run_host
    from .tuning.errors import TuningError
    from .tuning.failure import last_line

    if not path.is_file():
        raise TuningError(
            f"{path} is not there; make it with: python -m npu_target.build -o {path}"
        )
    try:
        return run_host(tvm.runtime.load_module(str(path.resolve())), inputs)[0]
    except (RuntimeError, OSError, ValueError, AttributeError) as error:
        raise TuningError(
            f"{path} cannot be run: {last_line(error)}; make it with: python -m npu_target.build"
        ) from error


def _read_labels(path: Path | None) -> list[str]:
    from .tuning.errors import TuningError

    if path is None:
        return []
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TuningError(f"{path} cannot be read: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
