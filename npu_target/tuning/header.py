"""header.json: what produced a folder of tuning logs.

MetaSchedule's databases say nothing of the device they were measured on, and a query for one
device returns another device's record. So every folder says it, and is checked before use.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tvm

import npu_target

from ..device import DeviceConfig
from ..files import check_name, write_atomically
from ..pipeline_options import DEFAULT, PipelineError, PipelineOptions
from .errors import LogError

HEADER_FILE = "header.json"
FORMAT = 1


@dataclass(frozen=True)
class Header:
    """Everything by which two folders of logs may differ.

    `device` is the device's name, `device_hash` its DeviceConfig.hash, `device_numbers` what the
    hash is made of. `command` is the command line that made the folder, for the reader: of files
    and folders that are named from the root on it keeps the names alone.
    `pipeline` is how programs were compiled, and left out of the file where it is the default.
    `runner` is what measured, empty and left out where it was the simulator.
    """

    format: int
    device: str
    device_hash: str
    device_numbers: dict[str, int]
    model: str
    npu_target: str
    tvm: str
    command: str
    pipeline: str = str(DEFAULT)
    runner: str = ""

    def __post_init__(self) -> None:
        """Raises LogError for names that cannot be those of folders."""
        object.__setattr__(self, "command", _without_folders(self.command))
        check_name("the device's name", self.device, LogError)
        check_name("the model's name", self.model, LogError)
        if self.runner:
            check_name("the runner's name", self.runner, LogError)

    @classmethod
    def of(
        cls,
        config: DeviceConfig,
        model: str,
        command: str,
        pipeline: PipelineOptions = DEFAULT,
        runner: str = "",
    ) -> Header:
        """The header of logs made now."""
        numbers = {name: int(value) for name, value in config.numbers().items()}
        return cls(
            FORMAT,
            config.name,
            config.hash,
            numbers,
            model,
            npu_target.__version__,
            tvm.__version__,
            command,
            str(pipeline),
            runner,
        )

    @property
    def measured_on(self) -> str:
        """The device's name, and what measures there where that is not the simulator: that of a
        folder."""
        return f"{self.device}@{self.runner}" if self.runner else self.device

    @property
    def options(self) -> PipelineOptions:
        """The pipeline. Raises LogError for one that this version does not know."""
        try:
            return PipelineOptions.parse(self.pipeline)
        except PipelineError as error:
            raise LogError(str(error)) from error

    def write(self, folder: Path) -> None:
        """Raises OSError where the folder cannot be written."""
        fields = dataclasses.asdict(self)
        if self.pipeline == str(DEFAULT):
            del fields["pipeline"]
        if not self.runner:
            del fields["runner"]
        text = json.dumps(fields, indent=2) + "\n"
        write_atomically(folder / HEADER_FILE, text.encode())

    @classmethod
    def read(cls, folder: Path) -> Header:
        """Raises LogError for a header that is missing, unreadable or of another form."""
        if not folder.is_dir():
            raise LogError(f"{folder} is not a folder of tuning logs")
        path = folder / HEADER_FILE
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise LogError(
                f"{path} is missing, so nobody knows which device {folder} was made for; "
                f"{_repair_with_device(folder)}"
            ) from None
        except (OSError, ValueError, RecursionError) as error:
            raise LogError(
                f"{path} cannot be read ({error}); {_repair_with_device(folder)}"
            ) from error
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:
            raise LogError(
                f"{path}: not a header of format {FORMAT}; tune again into another --logs folder"
            )
        fields.setdefault("pipeline", str(DEFAULT))
        fields.setdefault("runner", "")
        wanted: dict[str, Any] = {field.name: field.type for field in dataclasses.fields(cls)}
        types = {"int": int, "str": str, "dict[str, int]": dict}
        for name, kind in wanted.items():
            if not isinstance(fields.get(name), types[kind]):
                raise LogError(f"{path}: no usable {name!r}; {_repair_with_device(folder)}")
        try:
            return cls(**{name: fields[name] for name in wanted})
        except LogError as error:
            raise LogError(f"{path}: {error}; {_repair_with_device(folder)}") from error

    def check_usable_by(self, current: Header, folder: Path) -> None:
        """Raise LogError unless logs with this header serve `current` as its own would."""
        self.check_device(current, folder)
        if self.model != current.model:
            raise LogError(
                f"{folder} holds logs of model {self.model!r}, needed {current.model!r}; "
                "give another --logs folder"
            )
        if self.pipeline != current.pipeline:
            raise LogError(
                f"{folder} holds cycles of programs compiled by pipeline {self.pipeline}, needed "
                f"{current.pipeline}; give another --logs folder"
            )
        if self.runner != current.runner:
            raise LogError(
                f"{folder} holds cycles measured by {self.runner or 'the simulator'}, needed those "
                f"of {current.runner or 'the simulator'}; give another --logs folder, or another "
                "--runner"
            )
        for name in ("npu_target", "tvm"):
            made, now = getattr(self, name), getattr(current, name)
            if made != now:
                raise LogError(
                    f"{folder} was made with {name} {made}, this is {name} {now}, which may "
                    "schedule and time differently; measure its schedules anew with: "
                    f"npu-target logs remeasure {folder}"
                )

    def check_device(self, current: Header, folder: Path) -> None:
        """Raise LogError unless `current` is for the same device."""
        if self.device_hash != current.device_hash:
            raise LogError(
                f"{folder} holds logs of another device: {self.device} ({self.device_hash}), "
                f"needed {current.device} ({current.device_hash}); "
                f"they differ in {_differences(self, current)}; "
                "give the --device they were made for, or another --logs folder and tune there"
            )


def _without_folders(command: str) -> str:
    """Commands joined by `&&`, of absolute paths the last parts: the rest is of one machine."""
    try:
        commands = [shlex.split(part) for part in command.split(" && ")]
    except ValueError:  # no command line
        return command
    kept = [[_last_part(word) for word in words] for words in commands]
    return command if kept == commands else " && ".join(map(shlex.join, kept))


def _last_part(word: str) -> str:
    """`--logs=/a/b` is `--logs=b`."""
    if word.startswith("/"):
        return Path(word).name or word
    option, separator, path = word.partition("=/")
    return f"{option}={_last_part(f'/{path}')}" if separator else word


def _repair_with_device(folder: Path) -> str:
    return (
        "if you know the device, restore it with: "
        f"npu-target logs repair {folder} --device NAME --model MODEL"
    )


def _differences(made: Header, current: Header) -> str:
    names = sorted(made.device_numbers.keys() | current.device_numbers.keys())
    changes = [
        f"{name} {made.device_numbers.get(name)} (needed {current.device_numbers.get(name)})"
        for name in names
        if made.device_numbers.get(name) != current.device_numbers.get(name)
    ]
    shown = ", ".join(changes[:4])
    return shown + (f" and {len(changes) - 4} more" if len(changes) > 4 else "") or "nothing known"
