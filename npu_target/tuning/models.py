"""Models by their names or from files."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..frontend import SUFFIXES, Imported, TensorInfo
from ..frontend import load as load_file
from ..models import MODELS, Model, get_model
from ..relax_graph import dtype_of, shape_of
from .errors import TuningError


@dataclass(frozen=True)
class FileModel(Model):
    """A network from a file."""

    imported: Imported

    def calibration_inputs(self, count: int, seed: int = 0) -> Sequence[Sequence[np.ndarray]]:
        """Normally distributed floats, any integers."""
        random = np.random.default_rng(seed)
        return [[_drawn(random, info) for info in self.imported.inputs] for _ in range(count)]


def is_file(model: str) -> bool:
    """Whether a model is given by its file."""
    return Path(model).suffix in SUFFIXES


def model_name(model: str) -> str:
    """What logs call a model: its name, or its file's without folders and suffix."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", Path(model).stem) if is_file(model) else model


def check_model(model: str) -> None:
    """Raise TuningError for an unknown model, before anything is loaded."""
    if is_file(model):
        if Path(model).is_dir():
            raise TuningError(f"{model} is a folder; a network's file is needed")
        if not Path(model).is_file():
            raise TuningError(f"{model} is not there")
    elif model not in MODELS:
        raise TuningError(
            f"unknown model {model!r}; known models: {', '.join(sorted(MODELS))}, and files that "
            f"end in {', '.join(SUFFIXES)}"
        )


def load_model(
    model: str,
    weights: Path | None = None,
    seed: int = 0,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> Model:
    """A model by its name or from its file; arguments are those of `load_network`.

    Raises ModelError and FrontendError, and TuningError for arguments that are not for it.
    """
    if not is_file(model):
        if shapes:
            raise TuningError(f"{model} has its own shapes; --shape is for networks from files")
        return get_model(model, weights, seed)
    if weights is not None:
        raise TuningError(f"{model} has its own weights; --weights is for networks without a file")
    imported = load_file(Path(model), shapes)
    return FileModel(imported.name, imported.mod, imported)


def inputs_of(model: Model) -> tuple[TensorInfo, ...]:
    """What a model takes."""
    if isinstance(model, FileModel):
        return model.imported.inputs
    params = model.mod["main"].params
    return tuple(TensorInfo(param.name, shape_of(param), dtype_of(param)) for param in params)


def asked_model(options: argparse.Namespace) -> Model:
    """The model that the options of `cli.options.add_model_options` name.

    Raises as `load_model`.
    """
    return load_model(options.model, options.weights, options.weights_seed, dict(options.shape))


def _drawn(random: np.random.Generator, info: TensorInfo) -> np.ndarray:
    dtype = np.dtype(info.dtype)
    if np.issubdtype(dtype, np.floating):
        return random.normal(size=info.shape).astype(dtype)
    if info.quantization is None and dtype not in (np.dtype("int8"), np.dtype("uint8")):
        # Masks and indices, which may be into anything.
        return random.integers(0, 1, info.shape, endpoint=True).astype(dtype)
    ends = np.iinfo(dtype)
    return random.integers(ends.min, ends.max, info.shape, dtype, endpoint=True)
