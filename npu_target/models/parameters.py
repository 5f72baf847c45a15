"""Network parameters: read from a file, or drawn from a seed.

Names, layouts and shapes are those of torchvision's ``state_dict``, so that a trained network
is brought in by ``torch.save(model.state_dict(), file)``, as a .safetensors file, or by
``numpy.savez(file, **{k: v.numpy() for k, v in model.state_dict().items()})``: convolution weights
OIHW, dense weights (outputs, inputs), a batch norm as ``.weight`` (gamma), ``.bias`` (beta),
``.running_mean`` and ``.running_var``. ``.num_batches_tracked`` is ignored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import numpy as np

from .errors import ModelError
from .weight_files import read_weights

Shapes = Mapping[str, tuple[int, ...]]
Parameters = dict[str, np.ndarray]

# What ReLU leaves of the variance 1 of a normalized value.
RELU_VARIANCE = 0.5 - 0.5 / math.pi
# Of what a filter of zero mean sees in a normalized photograph, whose neighbours are alike.
IMAGE_VARIANCE = 0.3

_IGNORED_SUFFIX = ".num_batches_tracked"
_MOST_NAMES_SHOWN = 4


class InputVariances(Protocol):
    """What the seeded batch norm statistics need to know of a network."""

    def input_variances(self) -> dict[str, float]:
        """Variance of the values at the input of each batch norm's convolution, by norm."""


def load_parameters(
    file: str | Path, shapes: Shapes, other_parts: tuple[str, ...] = ()
) -> Parameters:
    """The arrays named in ``shapes``, as float32, from an .npz, a .safetensors file or a .pt state
    dict, which may have others whose names begin with one of ``other_parts``.

    Raises :class:`ModelError` for a file that cannot be read, a missing or extra tensor, a wrong
    shape, a dtype that is no number, or values that are not finite.
    """
    arrays = read_weights(file)
    arrays = {k: v for k, v in arrays.items() if not k.endswith(_IGNORED_SUFFIX)}
    if other_parts:
        arrays = {k: v for k, v in arrays.items() if not k.startswith(other_parts)}
    missing = [name for name in shapes if name not in arrays]
    if missing:
        needed = ", ".join(f"{name} {shapes[name]}" for name in missing[:_MOST_NAMES_SHOWN])
        raise ModelError(
            f"{file}: {len(missing)} of {len(shapes)} tensors are missing, needed "
            f"{needed}{_more(missing)}; there are {len(arrays)}: {_some_names(list(arrays))}"
        )
    extra = [name for name in arrays if name not in shapes]
    if extra:
        raise ModelError(
            f"{file}: {len(extra)} tensors have no place in this network: {_some_names(extra)}; "
            f"remove them, or choose the model that they belong to"
        )
    return {name: _checked(file, name, arrays[name], shape) for name, shape in shapes.items()}


def _checked(file: str | Path, name: str, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if array.shape != shape:
        raise ModelError(f"{file}: {name} must have shape {shape}, it has {array.shape}")
    if array.dtype.kind not in "fiu":
        raise ModelError(f"{file}: {name} must be float32, it is {array.dtype}")
    result = np.ascontiguousarray(array, "float32")
    if not np.isfinite(result).all():
        raise ModelError(f"{file}: {name} has values that are not finite")
    if name.endswith(".running_var") and (result < 0).any():
        raise ModelError(f"{file}: {name} has negative variances")
    return result


def _some_names(names: list[str]) -> str:
    return ", ".join(sorted(names)[:_MOST_NAMES_SHOWN]) + _more(names)


def _more(names: list[str]) -> str:
    left = len(names) - _MOST_NAMES_SHOWN
    return f" and {left} more" if left > 0 else ""


def seeded_parameters(shapes: Shapes, seed: int, network: InputVariances) -> Parameters:
    """Parameters drawn from ``seed`` under which activations keep their size through the network.

    Convolution weights are normal with variance 2 / fan_in (He et al. 2015), each filter shifted
    to a mean of 0: what all inputs have in common, since ReLU made them positive, would otherwise
    drown what tells one image from another. A batch norm's running variance is the one that its
    convolution then has, twice that of its input, give or take a factor per channel as in a
    trained network.
    """
    random = np.random.default_rng(seed)
    variances = network.input_variances()
    parameters: Parameters = {}
    for name, shape in shapes.items():
        layer, _, kind = name.rpartition(".")
        if kind == "weight" and len(shape) > 1:
            filter_axes = tuple(range(1, len(shape)))
            deviation = np.sqrt(2.0 / np.prod(shape[1:]))
            value = random.normal(0.0, deviation, shape)
            value -= value.mean(axis=filter_axes, keepdims=True)
        elif kind == "weight":
            value = random.uniform(0.7, 1.3, shape)
        elif kind == "running_var":
            value = 2.0 * variances[layer] * random.uniform(0.7, 1.4, shape)
        elif kind == "running_mean":
            value = np.sqrt(2.0 * variances[layer]) * random.normal(0.0, 0.1, shape)
        else:
            value = random.normal(0.0, 0.1, shape)
        parameters[name] = value.astype("float32")
    return parameters
