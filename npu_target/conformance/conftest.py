"""What the suite is about: one device, and its kind."""

from __future__ import annotations

import pytest

from npu_target.device import ConfigError, DeviceConfig, DeviceKind, find, kind_of

from .options import OPTION
from .steps import STEPS, step_of


@pytest.fixture(scope="session")
def config(request: pytest.FixtureRequest) -> DeviceConfig:
    """The device."""
    return _device(request.config)


@pytest.fixture(scope="session")
def kind(config: DeviceConfig) -> DeviceKind:
    """Its kind."""
    return kind_of(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each of the device's commands, and for each operator at each size."""
    from npu_target.topi.fitting import fitted_examples
    from npu_target.topi.registry import operators_of

    if "command" in metafunc.fixturenames:
        classes = kind_of(_device(metafunc.config)).commands.classes
        metafunc.parametrize("command", classes, ids=lambda cls: cls.mnemonic)
    if "operator" in metafunc.fixturenames:
        device = _device(metafunc.config)
        examples = [x for cls in operators_of(device) for x in fitted_examples(cls, device)]
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
