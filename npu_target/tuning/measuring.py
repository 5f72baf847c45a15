"""From scheduled modules to results: built one after the other, run on all devices at once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tvm.ir import IRModule
from tvm.s_tir import meta_schedule as ms

from ..config import NpuConfig
from ..target import make_target
from .builder import NpuBuilder
from .failure import Failure
from .runner import NpuRunner

_POLL_SECONDS = 0.005


@dataclass(frozen=True)
class Built:
    """A compiled candidate; equal digests are equal programs."""

    artifact: str
    digest: str


@dataclass(frozen=True)
class Running:
    """A candidate on its way through a device."""

    built: Built
    future: ms.runner.RunnerFuture


class Measurer:
    """Drives a builder and a runner. `interrupted` is asked while waiting."""

    def __init__(
        self,
        config: NpuConfig,
        builder: NpuBuilder,
        runner: NpuRunner,
        interrupted: Callable[[], bool],
    ) -> None:
        self._builder = builder
        self._runner = runner
        self._target = make_target(config)
        self.interrupted = interrupted

    def build(self, mod: IRModule) -> Built | Failure:
        (result,) = self._builder.build([ms.builder.BuilderInput(mod, self._target)])
        if result.error_msg is not None:
            return Failure.parse(str(result.error_msg))
        artifact = str(result.artifact_path)
        digest = hashlib.sha256(Path(artifact).read_bytes()).hexdigest()[:16]
        return Built(artifact, digest)

    def run(self, built: Built) -> Running:
        """Begin to measure."""
        (future,) = self._runner.run([ms.runner.RunnerInput(built.artifact, "ext_dev", [])])
        self.discard(built)
        return Running(built, future)

    def discard(self, built: Built) -> None:
        ms.utils.remove_build_dir(built.artifact)

    def finished(
        self, running: Mapping[int, Running], wait: bool
    ) -> Iterator[tuple[int, ms.runner.RunnerResult]]:
        """Results of what is done; with `wait`, of at least one, unless interrupted."""
        while True:
            done = [index for index, entry in running.items() if entry.future.done()]
            if done or not wait or self.interrupted():
                break
            time.sleep(_POLL_SECONDS)
        for index in done:
            yield index, running[index].future.result()

    def measure_all(self, mods: Sequence[IRModule]) -> list[ms.runner.RunnerResult]:
        """The results of these modules. Raises KeyboardInterrupt when interrupted."""
        results: dict[int, ms.runner.RunnerResult] = {}
        running: dict[int, Running] = {}
        for index, mod in enumerate(mods):
            built = self.build(mod)
            if isinstance(built, Failure):
                results[index] = ms.runner.RunnerResult(None, str(built))
            else:
                running[index] = self.run(built)
        while running:
            if self.interrupted():
                raise KeyboardInterrupt
            for index, result in self.finished(running, wait=True):
                results[index] = result
                del running[index]
        return [results[index] for index in range(len(mods))]
