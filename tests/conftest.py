"""Settings for all tests."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from kept_builds import KEPT

# Workers of pytest-xdist have the width of a terminal, which would limit what commands print.
os.environ.pop("COLUMNS", None)

# Examples take milliseconds to seconds each on the simulated device: no deadline, and the time
# that an explanation of a failure takes is better spent by the reader.
settings.register_profile(
    "npu_target", deadline=None, phases=[phase for phase in Phase if phase is not Phase.explain]
)
settings.load_profile("npu_target")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the files under tests/golden anew instead of comparing with them",
    )
    parser.addoption(
        "--update-logged-totals",
        action="store_true",
        help="write tests/logged_totals.json anew from the tuning logs; refuses worse totals",
    )


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The user's tuning logs, and what is kept, are not looked at, and get nothing from tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        patch.setenv("XDG_CACHE_HOME", os.environ[KEPT])
        yield


def pytest_configure(config: pytest.Config) -> None:
    """A folder for what all processes of this run make once, which go by the same environment."""
    if KEPT not in os.environ:
        kept = tempfile.TemporaryDirectory(prefix="npu_tests_")
        os.environ[KEPT] = kept.name
        config.add_cleanup(lambda: os.environ.pop(KEPT))
        config.add_cleanup(kept.cleanup)


@pytest.fixture(scope="module")
def tiny_model() -> Iterator[None]:
    """The small network is among the models."""
    import tiny_network

    from npu_target.models import registry

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.MODELS, "tiny", tiny_network.tiny)
        yield


@pytest.fixture
def integer_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file of a small quantized network; see `network_files`."""
    from network_files import write_integer_file

    return write_integer_file(tmp_path, monkeypatch)


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """`golden(name, text)` compares a text with the file of that name under tests/golden."""

    def check(name: str, text: str) -> None:
        path = Path(__file__).parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"no {path}; run pytest --update-golden"
        assert text == path.read_text(encoding="utf-8"), (
            "the program changed; see whether it should, then run pytest --update-golden"
        )

    return check


@pytest.fixture(autouse=True)
def tvm_loggers_propagate() -> Iterator[None]:
    """TVM's tuning takes its loggers out of the hierarchy; to those pytest adds a handler without a
    name, and with that TVM's tuning fails: so they are put back after each test."""
    yield
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("tvm.") and isinstance(logger, logging.Logger):
            logger.propagate = True


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("riscv") is not None:
        from riscv_tools import missing_packages

        if missing_packages():
            pytest.skip(f"needs {', '.join(missing_packages())}")
