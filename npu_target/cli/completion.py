"""`npu-target completion SHELL`: what makes a shell complete commands and options."""

from __future__ import annotations

import argparse

from .parsers import does

SUMMARY = "print what bash, zsh or fish need to complete options"
DESCRIPTION = (
    "Print the code by which a shell completes commands, options and devices. For bash and zsh put "
    'eval "$(npu-target completion bash)" into ~/.bashrc, or with zsh into ~/.zshrc; for fish, '
    "npu-target completion fish | source into ~/.config/fish/config.fish."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
    does(parser, "completion")
