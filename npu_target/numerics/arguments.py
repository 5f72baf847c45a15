"""Options of commands that choose numbers."""

from __future__ import annotations

import argparse

from .options import EXACT, MODES, NumericsOptions


def add_numerics_options(parser: argparse._ActionsContainer) -> None:
    """Exact or fast, and for which layers otherwise."""
    parser.add_argument(
        "--numerics",
        choices=MODES,
        default=EXACT,
        help="of a network that comes quantized: compute on the device only what is equal to the "
        "last bit, or all that it can come near to (default: %(default)s)",
    )
    for name, text in (
        ("--host", "leave a layer on the host, all of it"),
        ("--on-device", "compute a layer on the device, even where results differ"),
        ("--exact", "let no result of a layer differ"),
    ):
        parser.add_argument(
            name,
            action="append",
            default=[],
            metavar="LAYER",
            help=f"{text}; may be given several times, and a wrong name gets the near ones",
        )


def asked_numerics(options: argparse.Namespace) -> NumericsOptions:
    """What the options of `add_numerics_options` say.

    Raises NumericsError for a layer that two things are asked of.
    """
    return NumericsOptions(
        options.numerics,
        frozenset(options.host),
        frozenset(options.on_device),
        frozenset(options.exact),
    )
