"""How definitions are scheduled: the default, and the spaces that tuning searches."""

from .default import default_choice, default_schedule, remember_default
from .routed import routed_designs
from .space import SPACES, Design, designs, space_generator

__all__ = [
    "SPACES",
    "Design",
    "default_choice",
    "default_schedule",
    "designs",
    "remember_default",
    "routed_designs",
    "space_generator",
]
