"""The tuning logs that are asked for: one's own, and those that come with the package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .errors import LogError
from .header import HEADER_FILE, Header
from .log import TuningLog, log_folder, read_log
from .places import NO_LOGS, own_logs, shipped_logs


@dataclass(frozen=True)
class AskedLogs:
    """Where logs of one device and model are looked for.

    folder : one's own, which need not be there; None where no logs are wanted.
    shipped : those that come with the package, None where there are none or they are not wanted.
    is_given : whether the user has named the folder.
    """

    header: Header
    folder: Path | None
    shipped: TuningLog | None
    is_given: bool

    def read(self) -> TuningLog | None:
        """One's own over the shipped ones, for reading; None where there are neither.

        Raises LogError as `read_log` does, for a folder that was named and is not there, and where
        nothing was measured by the runner that was named.
        """
        if self.folder is None:
            return None
        if self.folder.exists():
            return read_log(self.folder, self.header, self.shipped)
        if self.is_given:
            raise LogError(
                f"{self.folder} does not exist; {logs_in(self.folder.parents[1])}; tune first, or "
                f"give another --logs folder, or --logs {NO_LOGS} for default schedules"
            )
        if self.shipped is None and self.header.runner:
            raise self._nothing()
        return self.shipped

    def need(self) -> TuningLog:
        """As `read`, but raises LogError where there are none."""
        log = self.read()
        if log is None:
            raise self._nothing()
        return log

    def _nothing(self) -> LogError:
        or_runner = ", or another --runner" if self.header.runner else ""
        return LogError(
            f"there are no tuning logs of {self.header.model} on {self.header.measured_on} "
            f"({self.described}); tune first, or give a --logs folder that has some{or_runner}"
        )

    @property
    def described(self) -> str:
        """Which logs are read, in words."""
        if self.folder is None:
            return "none"
        own = str(self.folder) if self.folder.exists() else f"none in {self.folder}"
        return own if self.shipped is None else f"{own}, and {self.shipped.folder}"


def asked_logs(header: Header, logs: str | Path | None = None, own_only: bool = False) -> AskedLogs:
    """Where to look for logs of the device and the model of `header`.

    logs : the folder that has one's own, in `<device>/<model>/`; None is the user's, NO_LOGS none
        at all.
    own_only : whether those that come with the package are left out.

    Raises LogError for shipped ones that are damaged.
    """
    if logs == NO_LOGS:
        return AskedLogs(header, None, None, True)
    folder = log_folder(Path(logs or own_logs()), header)
    shipped = None if own_only else _shipped(folder, header)
    return AskedLogs(header, folder, shipped, logs is not None)


def _shipped(own: Path, header: Header) -> TuningLog | None:
    """Where they are of the same: a device of one's own may have a preset's name."""
    folder = log_folder(shipped_logs(), header)
    if not (folder / HEADER_FILE).is_file() or own.resolve() == folder.resolve():
        return None
    try:
        Header.read(folder).check_usable_by(header, folder)
    except LogError:
        return None
    return read_log(folder, header)


def logs_in(logs: Path) -> str:
    """What logs a folder has, in words."""
    found = sorted(str(path.parent.relative_to(logs)) for path in logs.glob(f"*/*/{HEADER_FILE}"))
    if not found:
        return f"there are no logs in {logs}"
    more = f" and {len(found) - 8} more" if len(found) > 8 else ""
    return f"{logs} has {', '.join(found[:8])}{more}"
