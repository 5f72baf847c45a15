"""From a match to an operator of the device, or to the reason why there is none.

The reason is what ``--explain`` prints.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..device import DeviceConfig, kind_of
from ..relax_graph import constant_of, is_tensor, shape_of
from ..topi import Operator, OperatorError
from ..topi.fitting import fitted
from ..topi.pattern import Accepted, Match
from ..topi.routed import unserved
from .match import leak


def check(match: Match, operator: type[Operator], config: DeviceConfig) -> Accepted | str | None:
    """What the device makes of a match of the operator's spelling, or why it cannot; None for what
    is not the operator's."""
    not_static = [var for var in match.interior if not is_tensor(var)]
    if not_static:
        return f"the shape of {not_static[0].name} is not known at compile time"
    leaking = leak(match)
    if leaking is not None:
        return f"its intermediate value {leaking.name} is used elsewhere"
    requantized = _requantized(match, operator, config)
    if isinstance(requantized, str):
        return requantized
    try:
        accepted = operator.accept(requantized, config)
        if isinstance(accepted, Accepted):
            accepted.operator.check_device(config)
            operator_there = fitted(accepted.operator, config)
            if kind_of(config).has_schedules:
                operator_there.check_room(config)
    except OperatorError as error:
        return str(error)
    if isinstance(accepted, Accepted):
        return unserved(accepted.operator.kernel(), config) or accepted
    return accepted


def _requantized(match: Match, operator: type[Operator], config: DeviceConfig) -> Match | str:
    """The match with its scale and ReLU, where it has such; or why they are not the device's."""
    if "low" not in match.spelling.parts:
        return match
    rule = kind_of(config).numbers.rule
    rescaling = rule.read(match.parts)
    if isinstance(rescaling, str):
        return rescaling
    scale = rescaling.scale
    for each in scale if isinstance(scale, tuple) else (scale,):
        reason = rule.refusal(each)
        if reason is not None:
            return reason
    if isinstance(scale, tuple):
        if shape_of(match.root) != shape_of(match.anchor):
            return f"{len(scale)} requantize scales are not one for each of its channels"
        if len(set(scale)) == 1:
            scale = scale[0]
        elif not operator.channel_scales:
            return f"{len(scale)} requantize scales, one a channel: the operator takes one a tensor"
    zero = match.optional("zero")
    if zero is not None and np.any(constant_of(zero) != 0):
        return "a maximum with another value than 0 is not ReLU"
    relu = rescaling.relu or zero is not None or match.optional("relu") is not None
    return replace(match, scale=scale, relu=relu)
