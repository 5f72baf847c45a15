"""The suite's option, as a pytest plugin.

A leaf module: pytest loads it, by its entry point, in every run of an environment that has this
package.
"""

from __future__ import annotations

from typing import Any

OPTION = "--device"


def pytest_addoption(parser: Any) -> None:
    """Adds the option, unless another plugin has one of that name."""
    group = parser.getgroup("npu_target")
    try:
        group.addoption(
            OPTION,
            metavar="NAME|FILE",
            help="the device that npu_target.conformance is about: a preset's name or a file",
        )
    except ValueError:  # pytest's, for a name that is taken; its value is the device's name then
        return
