"""`python -m npu_target.run`: what a file made by `npu_target.build` says of an input."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .tuning.options import add_shape_option, report_errors

if TYPE_CHECKING:
    import numpy as np


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m npu_target.run",
        description="Run a network that npu_target.build compiled, on the simulated device and "
        "this host, and print its best classes, or what its outputs are like.",
    )
    result.add_argument("file", type=Path, help="what npu_target.build -o wrote")
    result.add_argument(
        "--input",
        "--image",
        type=Path,
        required=True,
        metavar="FILE",
        help="a BMP, PNG or JPEG file, or arrays: .npy, or .npz with one for each input by its "
        "name; or a folder of such",
    )
    result.add_argument(
        "--model",
        default="resnet18",
        metavar="NAME|FILE",
        help="whose input it is, as it was built (default: %(default)s)",
    )
    add_shape_option(result)
    result.add_argument(
        "--labels", type=Path, metavar="FILE", help="the classes' names, one a line"
    )
    result.add_argument("--top", type=int, default=5, metavar="N", help="(default: %(default)s)")
    result.add_argument(
        "--save",
        type=Path,
        metavar="FILE",
        help="write the outputs: the only one as a .npy file, several as an .npz archive",
    )
    return result


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.top < 1:
        parser().error(f"--top must be at least 1, got {options.top}")
    return report_errors(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    from .inputs import read_inputs
    from .tuning.models import check_model, inputs_of, load_model
    from .tuning.report import check_can_write

    check_model(options.model)
    if options.save is not None:
        check_can_write(options.save)
    labels = _read_labels(options.labels)
    model = load_model(options.model, shapes=dict(options.shape))
    samples = read_inputs(options.input, inputs_of(model))
    made = []
    for name, sample in zip(samples.names, samples, strict=True):
        made.append(run_file(options.file, sample))
        if len(samples) > 1:
            print(name)
        _print(made[-1], labels, options.top)
    if options.save is not None:
        _save(options.save, made)
    return 0


def run_file(path: Path, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of a compiled network.

    Raises TuningError for a file that is none, or inputs that do not fit it.
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
        return run_host(tvm.runtime.load_module(str(path.resolve())), *inputs)
    except (RuntimeError, OSError, ValueError, AttributeError) as error:
        raise TuningError(
            f"{path} cannot be run: {last_line(error)}; make it with: python -m npu_target.build"
        ) from error


def _print(outputs: Sequence[np.ndarray], labels: Sequence[str], top: int) -> None:
    """The best classes of a row of scores; of other outputs their range."""
    import numpy as np

    for number, output in enumerate(outputs):
        if len(outputs) == 1 and output.ndim == 2 and output.shape[0] == 1:
            for index in np.argsort(-output[0].astype("float64"), kind="stable")[:top]:
                name = labels[index] if index < len(labels) else ""
                print(f"{index:5d}  {output[0, index]:9.4f}  {name}".rstrip())
        else:
            size = "x".join(map(str, output.shape))
            ends = f"{output.min():.4f} to {output.max():.4f}" if output.size else "empty"
            print(f"output {number}: {output.dtype} {size}, {ends}")


def _save(path: Path, made: Sequence[Sequence[np.ndarray]]) -> None:
    """The outputs; those of several samples behind each other, along a new first axis."""
    import numpy as np

    from .files import open_atomically

    outputs = [
        parts[0] if len(parts) == 1 else np.stack(parts) for parts in zip(*made, strict=True)
    ]
    with open_atomically(path) as file:
        if len(outputs) == 1:
            np.save(file, outputs[0])
        else:
            arrays: dict[str, Any] = {f"output{n}": array for n, array in enumerate(outputs)}
            np.savez(file, **arrays)


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
