"""What is spelled anew, in float networks and in integer ones."""

from __future__ import annotations

from functools import partial

from tvm.ir import IRModule

from ..device import DeviceConfig
from .attention import rewrite_attention
from .average_pool import rewrite_average_pool
from .batched_product import rewrite_batched_product
from .dilation import rewrite_dilation
from .groups import rewrite_groups
from .max_pool import rewrite_max_pool
from .mean import rewrite_mean
from .one_dimension import rewrite_one_dimension
from .rewriting import rewritten
from .split import rewrite_split
from .transposed_convolution import rewrite_transposed_convolution


def decompose_float(mod: IRModule, name: str = "main") -> IRModule:
    """Function ``name`` of a float network in operators that have an integer form."""
    return rewritten(
        mod,
        (
            rewrite_split,
            rewrite_one_dimension,
            rewrite_transposed_convolution,
            rewrite_average_pool,
            rewrite_mean,
            rewrite_attention,
        ),
        name,
    )


def decompose_integer(mod: IRModule, config: DeviceConfig, name: str = "main") -> IRModule:
    """Function ``name`` of an integer network in operators that devices have."""
    return rewritten(
        mod,
        (
            rewrite_dilation,
            partial(rewrite_groups, side=config.dim),
            rewrite_max_pool,
            rewrite_batched_product,
        ),
        name,
    )
