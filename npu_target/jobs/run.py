"""Running what a build wrote: what it says of an input."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..built_file import Built, read_built
from ..files import WriteError, check_can_write, open_atomically
from ..inputs import read_inputs
from ..run import load_built
from ..tuning.errors import TuningError
from ..tuning.models import model_name


def run(options: argparse.Namespace) -> int:
    if options.output is not None:
        check_can_write(options.output)
    labels = _read_labels(options.class_names)
    built = read_built(options.file)
    _check_model(built, options)
    samples = read_inputs(options.input, built.inputs)
    network = load_built(options.file)
    made = []
    for name, sample in zip(samples.names, samples, strict=True):
        made.append(network(sample))
        if len(samples) > 1:
            print(name)
        _print(made[-1], labels, options.top)
    if options.output is not None:
        _save(options.output, made)
    return 0


def _check_model(built: Built, options: argparse.Namespace) -> None:
    if options.model is not None and model_name(options.model) != built.model:
        raise TuningError(
            f"{options.file} was built from {built.model} for {built.device}, not from "
            f"{options.model}"
        )


def _print(outputs: Sequence[np.ndarray], labels: Sequence[str], top: int) -> None:
    """The best classes of a row of scores; of other outputs their range."""
    for number, output in enumerate(outputs):
        if len(outputs) == 1 and output.ndim == 2 and output.shape[0] == 1:
            for index in np.argsort(-output[0].astype("float64"), kind="stable")[:top]:
                name = labels[index] if index < len(labels) else ""
                print(f"{index:5d}  {_number(output[0, index]):>9}  {name}".rstrip())
        else:
            size = "x".join(map(str, output.shape)) or "scalar"
            ends = "empty"
            if output.size:
                ends = f"{_number(output.min())} to {_number(output.max())}"
            print(f"output {number}: {output.dtype} {size}, {ends}")


def _number(value: Any) -> str:
    """An element: integers and truth values have no places behind a point."""
    return f"{value:.4f}" if isinstance(value, np.floating) else str(value)


def _save(path: Path, made: Sequence[Sequence[np.ndarray]]) -> None:
    """The outputs; those of several samples behind each other, along a new first axis."""
    outputs = [
        parts[0] if len(parts) == 1 else np.stack(parts) for parts in zip(*made, strict=True)
    ]
    try:
        with open_atomically(path) as file:
            if len(outputs) == 1:
                np.save(file, outputs[0])
            else:
                arrays: dict[str, Any] = {f"output{n}": array for n, array in enumerate(outputs)}
                np.savez(file, **arrays)
    except OSError as error:
        raise WriteError(f"{path} cannot be written: {error.strerror or error}") from error


def _read_labels(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TuningError(f"{path} cannot be read: {error}") from error
