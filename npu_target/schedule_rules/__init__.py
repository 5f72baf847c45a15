"""How definitions are scheduled: the default, and the spaces that tuning searches."""

from .default import default_choice, default_schedule, knows_default, remember_default
from .routed import routed_designs
from .space import SPACES, Design, TracedDesign, designs, space_generator, traced_designs

__all__ = [
    "SPACES",
    "Design",
    "TracedDesign",
    "default_choice",
    "default_schedule",
    "designs",
    "knows_default",
    "remember_default",
    "routed_designs",
    "space_generator",
    "traced_designs",
]
