"""The examples of a device's operators, and why some of them are none."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from npu_target.device import DeviceConfig, kind_of
from npu_target.topi import Operator
from npu_target.topi.fitting import fitted
from npu_target.topi.operator import OperatorError
from npu_target.topi.registry import operators, operators_of

_ADVICE = (
    "Give the operator examples that the device takes, or a `padded` that makes them such "
    "(docs/operators.md), or leave it out of the manifest's `operators`"
)


class OperatorExamples(NamedTuple):
    """What can be tried on a device, and what cannot: a line each, with what to do."""

    operators: tuple[Operator, ...]
    problems: tuple[str, ...]


@cache
def operator_examples(config: DeviceConfig) -> OperatorExamples:
    """The examples of each operator, as the device is given them. Raises nothing that a manifest
    or an operator of others may raise: that is a problem."""
    found: list[Operator] = []
    classes, problems = _classes(config)
    for cls in classes:
        try:
            for operator in cls.examples(config):
                try:
                    operator.check_device(config)
                    found.append(fitted(operator, config))
                except OperatorError as error:
                    problems.append(f"{cls.op}, example {operator.name}: {error}. {_ADVICE}")
        except Exception as error:  # noqa: BLE001  one operator must not keep others from running
            problems.append(f"{cls.op}: its examples: {type(error).__name__}: {error}. {_ADVICE}")
    return OperatorExamples(tuple(found), tuple(problems))


def _classes(config: DeviceConfig) -> tuple[tuple[type[Operator], ...], list[str]]:
    try:
        return operators_of(config), []
    except OperatorError as error:
        known = operators()
        names = [op for op in kind_of(config).operators if op in known]
        problem = f"{error}. Name those that there are in the manifest's `operators`"
        return tuple(known[op] for op in names), [problem]
