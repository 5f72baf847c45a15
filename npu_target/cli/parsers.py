"""Parsers whose refusals are one line each, and the types of options."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NoReturn

from rpc_server.address import Address, AddressError

from ..pipeline_options import PipelineError, PipelineOptions
from .errors import report_errors


class TextFormatter(argparse.HelpFormatter):
    """Fills paragraphs, but leaves texts of several lines, such as tables, as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong, and where it is explained; no abbreviated options, which
    would mean something else when another is added."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": TextFormatter, "allow_abbrev": False, **settings})

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """What was printed, help for one, is written now: the interpreter would find only at its
        end that it cannot be."""
        super().exit(status or report_errors(self.prog, lambda: 0), message)

    def error(self, message: str) -> NoReturn:
        self.exit(2, wrong_options(self.prog, message))


def wrong_options(prog: str, message: str) -> str:
    """What to say of options that are none, as a line."""
    return f"{prog}: error: {message}; see: {prog} --help\n"


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers of what can be asked for: those inside a parser that have none inside."""
    inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not inner:
        yield parser
    for action in inner:
        for child in action.choices.values():
            yield from leaves(child)


def does(parser: argparse.ArgumentParser, job: str, **settings: Any) -> None:
    """What a parser parses is done by this module of `npu_target.jobs`."""
    parser.set_defaults(job=job, prog=parser.prog, **settings)


@cache
def at_least(least: int) -> Callable[[str], int]:
    """The type of an option that takes an integer from `least`."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {value}")
        return value

    return number


def seed(text: str) -> int:
    """What NumPy and TVM take as a seed."""
    value = at_least(0)(text)
    if value >= 1 << 31:
        raise argparse.ArgumentTypeError(f"must be less than 2**31, got {value}")
    return value


def seconds(text: str) -> float:
    """More than none."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number of seconds, got {text!r}") from None
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be more than 0, got {value:g}")
    return value


def port(text: str) -> int:
    """Of TCP; 0 is any free one."""
    value = at_least(0)(text)
    if value > 65535:
        raise argparse.ArgumentTypeError(f"must be at most 65535, got {value}")
    return value


def pipeline(text: str) -> PipelineOptions:
    try:
        return PipelineOptions.parse(text)
    except PipelineError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def address(text: str) -> Address:
    """HOST:PORT."""
    try:
        return Address.parse(text)
    except AddressError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def shape(text: str) -> tuple[str, tuple[int, ...]]:
    """NAME=N,... as the name and the sizes."""
    name, equals, numbers = text.rpartition("=")
    parts = numbers.split(",")
    if not (name and equals and all(part.isdecimal() and int(part) > 0 for part in parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is no shape; write NAME=1,3,224,224")
    return name, tuple(map(int, parts))


def varied(text: str) -> tuple[str, tuple[int, ...]]:
    """NAME=N,N,... as the name and its values."""
    name, equals, numbers = text.partition("=")
    parts = numbers.split(",")
    if not (name and equals and all(part.isdecimal() for part in parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=N,N,... with whole numbers")
    values = tuple(map(int, parts))
    if len(set(values)) < len(values):
        raise argparse.ArgumentTypeError(f"{text!r} has a value twice")
    return name, values


class AppendShape(argparse.Action):
    """Of one input there is one shape."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        given = getattr(namespace, self.dest)
        name, _ = values
        if name in dict(given):
            raise argparse.ArgumentError(self, f"input {name!r} is given two shapes")
        setattr(namespace, self.dest, [*given, values])
