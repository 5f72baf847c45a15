"""What the table of layers says, column by column, and what a search leaves out: for --help."""

from __future__ import annotations


def columns(of_search: bool = False) -> str:
    """`of_search` adds what only a search's table has."""
    return "\n".join([_COLUMNS, *([_OF_SEARCH] if of_search else []), _NOTES])


_COLUMNS = """\
columns of the table of layers:
  count      how often the network has the layer; all else is of one run
  MACs       multiply-accumulates
  default    simulated cycles by the schedule that is taken without tuning *
  cycles     by the schedule that is taken
  in sequence  cycles of a run in the network, on average, where the caches
             hold what layers before it left **
  speedup    default cycles over these
  array use  share of the multiply-accumulates that the array could do meanwhile
  schedule   default; tuned: from the logs; or a route of the device, with its
             name
  packed     weights that a build stores in the order in which they are loaded *"""
_OF_SEARCH = """\
of schedules: tuned now is what this run found
with --host-columns:
  host/cmd   instructions of the host core for a command of the device
  loop code  bytes of code in loops
  once       share of the cycles in code that runs once"""
_NOTES = """\
* in terminals of 112 columns and more;
** of 128 columns and more, where all layers of a network are known"""
