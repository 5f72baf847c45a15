"""The words that say how to search: a module of its own, since options are made without TVM."""

SPACES = ("template", "rules", "both")
SEARCHES = ("points", "evolutionary")
