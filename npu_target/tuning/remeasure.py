"""Measuring anew what tuning logs hold, after the compiler or the model of the device changed."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from ..device import DeviceConfig
from ..topi import OperatorError
from .batch import Batch
from .candidate import Candidate
from .errors import LogError, TuningError
from .failure import DOES_NOT_APPLY, Failure
from .header import Header
from .layers import Layer
from .log import RecordLine, TuningLog, check_can_make, lock_folder, log_folder, open_log
from .measuring import Measurer
from .progress import TuningProgress
from .recorder import Recorder
from .state import LayerState
from .workload import operator_of, workload_module

COMMAND = "npu-target logs remeasure"
_NEW_SUFFIX = ".remeasured"
_OLD_SUFFIX = ".before"


@dataclass(frozen=True)
class Remeasured:
    """What came of a layer's records: its best cycles before and now (None where it has no record
    any more), how many have a time again, and how many do not."""

    name: str
    cycles_before: int
    cycles: int | None
    kept: int
    dropped: int


def remeasure(
    folder: Path,
    most: int | None,
    config: DeviceConfig,
    measurer: Measurer,
    progress: TuningProgress,
    runner: str = "",
) -> list[Remeasured]:
    """Replay and measure the records of a folder, of each layer the fastest `most` or all, and
    put logs of the results at the place of `remeasured_folder`: in its own, or, where it was
    measured by another than `runner`, beside it.

    What is there stays as it is until all is done. Schedules that no longer apply, equal programs,
    and layers whose operator has other attributes now, are dropped. Raises LogError for a folder
    that cannot be read or written or is of another device, TuningError when interrupted.
    """
    header = Header.read(folder)
    command = header.command.split(" && ")[0] + f" && {COMMAND} {folder.name}"
    new_header = Header.of(config, header.model, command, header.options, runner)
    header.check_device(new_header, folder)
    target = remeasured_folder(folder, header, runner)
    old_folder = _old(target)
    if old_folder.exists():
        raise LogError(
            f"{old_folder} is there, from a run that was ended while it replaced {target}: move it "
            "back, or away"
        )
    if target != folder:
        check_can_make(target)
        target.parent.mkdir(parents=True, exist_ok=True)
    new_folder = target.with_name(target.name + _NEW_SUFFIX)
    with lock_folder(folder):
        old = TuningLog(folder, header)
        shutil.rmtree(new_folder, ignore_errors=True)
        try:
            with open_log(new_folder, new_header) as new:
                recorder = Recorder(new, progress)
                results = []
                for workload in old.workloads:
                    records = old.records_of(workload.mod)[:most]
                    try:
                        layer = Layer(operator_of(workload.mod), 1)
                    except OperatorError as error:
                        name = f"a layer of another form ({error})"
                        results.append(_dropped(name, records, config))
                        continue
                    progress.stage(layer.name)
                    results.append(_remeasure(old, layer, records, config, measurer, recorder))
                    if measurer.interrupted():
                        raise TuningError(f"stopped; {target} is as it was")
            if target == folder:
                _replace(folder, new_folder)
            else:
                _put(target, new_folder)
        finally:
            shutil.rmtree(new_folder, ignore_errors=True)
    return results


def remeasured_folder(folder: Path, header: Header, runner: str) -> Path:
    """Where the logs of a folder go that are measured by `runner`. Raises LogError for logs of
    another runner at a place that does not tell, and for a folder of other logs that is there."""
    if header.runner == runner:
        return folder
    resolved = folder.resolve()
    if resolved.parts[-2:] != (header.measured_on, header.model):
        raise LogError(
            f"{folder} is not {header.measured_on}/{header.model} in some folder, so there is no "
            f"place beside it for what {runner or 'the simulator'} measures"
        )
    target = log_folder(folder.resolve().parents[1], replace(header, runner=runner))
    if target.exists():
        raise LogError(
            f"{target} is there already: remeasure that folder, or move it away to have it made "
            f"from {folder}"
        )
    return target


def _dropped(name: str, records: list[RecordLine], config: DeviceConfig) -> Remeasured:
    cycles = round(records[0].seconds * config.clock_khz * 1e3)
    return Remeasured(name, cycles, None, 0, len(records))


def _remeasure(
    old: TuningLog,
    layer: Layer,
    records: list[RecordLine],
    config: DeviceConfig,
    measurer: Measurer,
    recorder: Recorder,
) -> Remeasured:
    state = LayerState(layer, workload_module(layer.operator, config), config)
    state.best_seconds = float("inf")
    traces = [record.record[0] for record in records]
    compiled = [measurer.compile(layer.operator, trace) for trace in traces]
    candidates = [
        Candidate(trace, future.result()) for trace, future in zip(traces, compiled, strict=True)
    ]
    batch = Batch(state, [c for c in candidates if not _does_not_apply(c)])
    batch.measure(measurer, recorder)
    kept = batch.measured
    return Remeasured(
        layer.name,
        state.cycles(records[0].seconds),
        state.cycles(state.best_seconds) if kept else None,
        kept,
        len(records) - kept,
    )


def _does_not_apply(candidate: Candidate) -> bool:
    """Whether it is no schedule of the layer as that is defined now."""
    return isinstance(candidate.compiled, Failure) and candidate.compiled.kind == DOES_NOT_APPLY


def _old(folder: Path) -> Path:
    """Where a folder is while another one takes its place."""
    return folder.with_name(folder.name + _OLD_SUFFIX)


def _replace(folder: Path, new_folder: Path) -> None:
    old_folder = _old(folder)
    try:
        folder.rename(old_folder)
        try:
            new_folder.rename(folder)
        except OSError:
            old_folder.rename(folder)
            raise
    except OSError as error:
        where = f"; it is in {old_folder}" if old_folder.exists() else ""
        raise LogError(f"{folder} cannot be replaced: {error.strerror}{where}") from error
    shutil.rmtree(old_folder, ignore_errors=True)


def _put(target: Path, new_folder: Path) -> None:
    """Where there was nothing before all was measured; a folder with anything in it stays."""
    try:
        new_folder.rename(target)
    except OSError as error:
        raise LogError(
            f"{target} cannot be made, what was measured is lost: {error.strerror}"
        ) from error
