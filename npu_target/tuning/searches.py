"""The searches by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .evolutionary import EvolutionaryFactory
from .search import SearchFactory

# Of a device, a space (template, rules or both), a seed, and what compiles candidates.
SEARCHES: Mapping[str, type[SearchFactory] | type[EvolutionaryFactory]] = MappingProxyType(
    {"points": SearchFactory, "evolutionary": EvolutionaryFactory}
)
