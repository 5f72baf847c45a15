"""How definitions are scheduled: the default, and the spaces that tuning searches."""

from .default import default_schedule
from .space import SPACES, space_generator

__all__ = ["SPACES", "default_schedule", "space_generator"]
