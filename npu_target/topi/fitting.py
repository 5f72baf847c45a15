"""Operators in sizes that a device's copies take: padded with zeros, by who has the arguments."""

from __future__ import annotations

from collections.abc import Sequence

from ..device import DeviceConfig, kind_of
from .operator import Operator, OperatorError


def fitted(operator: Operator, config: DeviceConfig) -> Operator:
    """The operator that a device is given in the place of another: each argument the same, or
    padded with zeros at the ends of its dimensions; so is then the output.

    Raises
    ------
    OperatorError
        where the device's copies cannot take it, padded or not.
    """
    multiple = kind_of(config).features(config).row_elements
    if multiple == 1:
        return operator
    found = operator.padded(multiple)
    for arg in found.kernel().args:
        if arg.shape[-1] % multiple:
            raise OperatorError(
                f"{operator.name}: lines of {arg.shape[-1]} elements of {arg.name}, "
                f"the device copies multiples of {multiple}"
            )
    return found


def fitted_examples(cls: type[Operator], config: DeviceConfig) -> Sequence[Operator]:
    """The examples of a class of operators, as a device is given them."""
    return [fitted(operator, config) for operator in cls.examples(config)]
