"""What the suite is about: one device, and its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npu_target.device import ConfigError, DeviceConfig, DeviceKind, find, kind_of

from .examples import command_classes
from .options import OPTION
from .steps import STEPS, step_of

if TYPE_CHECKING:
    from npu_target.topi import Operator


@pytest.fixture(scope="session")
def config(request: pytest.FixtureRequest) -> DeviceConfig:
    """The device."""
    return _device(request.config)


@pytest.fixture(scope="session")
def kind(config: DeviceConfig) -> DeviceKind:
    """Its kind."""
    return kind_of(config)


@pytest.fixture(scope="session")
def simple(config: DeviceConfig) -> Operator:
    """The first example of the device's operators."""
    from .operator_examples import operator_examples

    examples = operator_examples(config).operators
    if not examples:
        pytest.fail("no operator to try: test_every_operator_has_its_examples says why")
    return examples[0]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each of the device's commands, and for each operator at each size.

    Those that cannot be made have a test that says so; an error here would keep all from running.
    """
    from .operator_examples import operator_examples

    if "command" in metafunc.fixturenames:
        classes = command_classes(kind_of(_device(metafunc.config)))
        metafunc.parametrize("command", classes, ids=lambda cls: cls.mnemonic)
    if "operator" in metafunc.fixturenames:
        examples = operator_examples(_device(metafunc.config)).operators
        metafunc.parametrize("operator", examples, ids=lambda operator: operator.name)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says which step of the port is the first that something is missing of."""
    failed = terminalreporter.getreports("failed") + terminalreporter.getreports("error")
    # Not by node ids: those of a run of one file do not name it.
    steps = sorted({step for report in failed if (step := step_of(report.location[0])) is not None})
    if failed and not _is_known(terminalreporter.config):
        steps = [STEPS[0]]
    if steps:
        first = steps[0]
        terminalreporter.write_sep("=", "where the port is")
        terminalreporter.write_line(first.message)


def _device(config: pytest.Config) -> DeviceConfig:
    name = config.getoption(OPTION)
    if name is None:
        raise pytest.UsageError(f"npu_target.conformance needs {OPTION} NAME, a device")
    try:
        return find(name)
    except ConfigError as error:
        raise pytest.UsageError(f"{OPTION} {name}: {error}") from error


def _is_known(config: pytest.Config) -> bool:
    try:
        _device(config)
    except pytest.UsageError:
        return False
    return True
