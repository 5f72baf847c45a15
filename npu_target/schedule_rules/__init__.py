"""How definitions are scheduled: the default, and the spaces that tuning searches."""

from .default import default_schedule
from .space import SPACES, Design, designs, space_generator

__all__ = ["SPACES", "Design", "default_schedule", "designs", "space_generator"]
