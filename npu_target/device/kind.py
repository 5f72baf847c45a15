"""What a kind of device is: a manifest that names its parts.

The parts that need TVM are named, not imported: the manifest is read in the middle of
`import tvm`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pkgutil import resolve_name
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any

from .calibration import CalibrationSet
from .command_set import CommandSet
from .config import DeviceConfig
from .copy_rules import CopyRules
from .cost import Cost
from .emission import Emission
from .features import Features
from .intrinsic import Intrinsic
from .profile import ProfileTerms
from .route import Route

if TYPE_CHECKING:
    from .numbers import Numbers

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class KindError(ValueError):
    """A manifest that is none of a kind of device, saying which part is wrong."""


@dataclass(frozen=True)
class DeviceKind:
    """One kind of device.

    A part that is a str is the place of an object, `package.module:object`, imported when it is
    first needed.

    name : of the kind, as files of devices and programs have it: lower case letters, digits and _.
    config : the class of its devices.
    presets : the known devices; the first one is what other devices are described by.
    commands_at : the place of its `CommandSet`.
    numbers_at : the place of its `Numbers`.
    features : what definitions may use of one of its devices.
    simulator_at : the place of a function that simulates it (`device_api.simulators`), which every
        process has that imports TVM; of none, the device library has it.
    operators : the names of the operators that it computes; of those that take the same operation
        of a network, the first that accepts it has it.
    intrinsics_at : the place of a tuple of its subclasses of `Intrinsic`.
    copy_rules_at : the place of its subclass of `CopyRules`.
    emission_at : the place of its subclass of `Emission`. A kind gives all of these three, or none
        if it runs no schedules: then it has `routes_at`.
    routes_at : the place of a tuple of its subclasses of `Route`, if it has such: they compute
        whole operators without a schedule.
    cost_at : the place of its `Cost`. Where it gives none, default schedules are found with its
        simulator alone, and a search prunes next to nothing.
    shape_fields : of the config, those in which a program's device and another have to agree for
        the program to compute the same there.
    profile : the words for where its cycles go; of none, its simulator records nothing, and runs
        tell how many cycles, not where they went.
    start_header_at : the place of a C header, `package:path`, whose `npu_start()` is what a device
        needs before its first command, which `npu.h` issues; of none, its commands are no
        instructions of a RISC-V core, and exports are for its simulator or for a driver.
    calibration_at : the place of its `CalibrationSet`, if there is one.
    """

    name: str
    config: type[DeviceConfig]
    presets: tuple[DeviceConfig, ...]
    commands_at: str
    numbers_at: str
    features: Callable[[Any], Features]
    operators: tuple[str, ...]
    intrinsics_at: str | None = None
    copy_rules_at: str | None = None
    emission_at: str | None = None
    routes_at: str | None = None
    cost_at: str = "npu_target.neutral_cost:COST"
    shape_fields: tuple[str, ...] = ()
    profile: ProfileTerms = field(default_factory=ProfileTerms)
    simulator_at: str | None = None
    start_header_at: str | None = None
    calibration_at: str | None = None

    def __post_init__(self) -> None:
        """Raises KindError for what can be told without importing the parts."""
        if not _NAME.fullmatch(self.name):
            raise KindError(f"device kind {self.name!r}: the name must match {_NAME.pattern}")
        if self.config.kind != self.name:
            raise KindError(f"device kind {self.name}: its config is of kind {self.config.kind!r}")
        for name in self.shape_fields:
            if name not in self.config.__dataclass_fields__:
                raise KindError(f"device kind {self.name}: its config has no shape field {name!r}")
        scheduling = (self.intrinsics_at, self.copy_rules_at, self.emission_at)
        if None in scheduling and any(scheduling):
            raise KindError(
                f"device kind {self.name}: needs all of intrinsics_at, copy_rules_at and "
                "emission_at, or none of them"
            )
        if not self.has_schedules and self.routes_at is None:
            raise KindError(f"device kind {self.name}: needs emission_at, or else routes_at")
        if not self.presets:
            raise KindError(f"device kind {self.name}: needs at least one preset")
        for preset in self.presets:
            if not isinstance(preset, self.config):
                raise KindError(
                    f"device kind {self.name}: preset {preset.name!r} is no {self.config.__name__}"
                )

    @cached_property
    def commands(self) -> CommandSet:
        """Its commands."""
        return self._part("commands_at", CommandSet)

    @cached_property
    def numbers(self) -> Numbers:
        """What it computes."""
        from .numbers import Numbers

        return self._part("numbers_at", Numbers)

    @property
    def has_schedules(self) -> bool:
        """Whether it runs what schedules make; else it has routes alone."""
        return self.emission_at is not None

    def intrinsics(self, config: DeviceConfig) -> Mapping[str, Intrinsic]:
        """The steps of one of its devices, by the functions that they are calls of."""
        found = self._intrinsics.get(config)
        if found is None:
            made = [cls(config) for cls in self._intrinsic_classes]
            found = MappingProxyType({intrinsic.call: intrinsic for intrinsic in made})
            self._intrinsics[config] = found
        return found

    def copy_rules(self, config: DeviceConfig) -> CopyRules:
        """The rules of the copies of one of its devices."""
        if config not in self._copy_rules:
            self._copy_rules[config] = self._class("copy_rules_at", CopyRules)(config)
        return self._copy_rules[config]

    def routes(self, config: DeviceConfig) -> Mapping[str, Route]:
        """The ways to compute whole operators on one of its devices, by name."""
        if config not in self._routes:
            made = [cls(config) for cls in self._classes("routes_at", Route)]
            self._routes[config] = MappingProxyType({route.name: route for route in made})
        return self._routes[config]

    @cached_property
    def emission(self) -> type[Emission]:
        """Its part of the compilation of a program."""
        return self._class("emission_at", Emission)

    @cached_property
    def cost(self) -> Cost:
        """What schedules and programs cost."""
        return self._part("cost_at", Cost)

    @cached_property
    def calibration(self) -> CalibrationSet | None:
        """What is measured to make its simulator true to a device; None where it says nothing."""
        return None if self.calibration_at is None else self._part("calibration_at", CalibrationSet)

    @cached_property
    def simulate(self) -> Callable[[Any], Mapping[str, int]]:
        """Its simulator, of a kind that gives the place of one."""
        return self._part("simulator_at", FunctionType)

    @property
    def no_instructions(self) -> str:
        """What to say where `start_header_at` is needed and there is none."""
        return (
            f"commands of {self.name} devices are no instructions of a RISC-V core: their kind has "
            "no start_header_at"
        )

    def start_header(self) -> str:
        """The C header that defines `npu_start()`."""
        if self.start_header_at is None:
            return f'#error "{self.no_instructions}"\n'
        package, _, path = self.start_header_at.partition(":")
        try:
            return files(package).joinpath(path).read_text()
        except (ImportError, OSError, ValueError) as error:
            raise KindError(
                f"device kind {self.name}: start_header_at is {self.start_header_at!r}: {error}"
            ) from error

    def check(self) -> None:
        """Import every part. Raises KindError for one that is not there or is something else, and
        for a preset's features that do not go with its intrinsics or its copy rules; ConfigError
        for a preset whose memories are not of blocks."""
        self.start_header()
        if self.simulator_at is not None:
            _ = self.simulate
        _ = self.commands, self.numbers, self._intrinsic_classes, self.cost, self.calibration
        self._classes("routes_at", Route)
        if self.has_schedules:
            _ = self.emission
            self._class("copy_rules_at", CopyRules)
        for preset in self.presets:
            preset.check_memories()
            self._check_steps(preset)
            if self.has_schedules:
                self._check_transposed(preset)

    def _check_steps(self, config: DeviceConfig) -> None:
        """Raise KindError where definitions would name a step that no intrinsic is."""
        features, intrinsics = self.features(config), self.intrinsics(config)
        calls = {f"elementwise step {x.operation.name}": x.call for x in features.elementwise}
        if features.step is not None:
            calls["step"] = features.step.call
        for feature, call in calls.items():
            owner = f"device kind {self.name}: features of {config.name!r}: the {feature}"
            if call not in intrinsics:
                there = ", ".join(map(repr, intrinsics)) or "none"
                raise KindError(
                    f"{owner} is {call!r}, which has to be the `call` of an intrinsic of "
                    f"intrinsics_at; those there are: {there}"
                )
            if feature == "step" and not intrinsics[call].multiplies:
                raise KindError(
                    f"{owner} is {call!r}, whose intrinsic {type(intrinsics[call]).__name__} has "
                    "to say `multiplies = True`"
                )

    def _check_transposed(self, config: DeviceConfig) -> None:
        """Raise KindError where weights, which are packed then, might be loaded in parts of blocks,
        as definitions do with few channels."""
        found, block = self.features(config).row_elements, config.memories.weights.columns
        if self.copy_rules(config).transposed_weights and found % block:
            raise KindError(
                f"device kind {self.name}: the copy rules of {config.name!r} say "
                "transposed_weights: row_elements of its features has to be those of a block, "
                f"{block}, or a multiple of it, and is {found}"
            )

    @cached_property
    def _intrinsics(self) -> dict[DeviceConfig, Mapping[str, Intrinsic]]:
        return {}

    @cached_property
    def _copy_rules(self) -> dict[DeviceConfig, CopyRules]:
        return {}

    @cached_property
    def _routes(self) -> dict[DeviceConfig, Mapping[str, Route]]:
        return {}

    @cached_property
    def _intrinsic_classes(self) -> tuple[type[Intrinsic], ...]:
        return self._classes("intrinsics_at", Intrinsic)

    def _classes(self, name: str, base: type[Any]) -> tuple[Any, ...]:
        """The classes of a part that is a tuple of them; none where there is no such part."""
        if getattr(self, name) is None:
            return ()
        classes = self._part(name, tuple)
        for cls in classes:
            self._check_class(name, cls, base)
        return classes

    def _class(self, name: str, base: type[Any]) -> Any:
        cls = self._part(name, type)
        self._check_class(name, cls, base)
        return cls

    def _check_class(self, name: str, cls: object, base: type) -> None:
        if not (isinstance(cls, type) and issubclass(cls, base)):
            raise KindError(
                f"device kind {self.name}: {name} {getattr(self, name)!r} has {cls!r}, "
                f"needs subclasses of {base.__name__}"
            )

    def _part(self, name: str, wanted: type) -> Any:
        place = getattr(self, name)
        try:
            part = resolve_name(place)
        except (ImportError, AttributeError, ValueError) as error:
            raise KindError(f"device kind {self.name}: {name} is {place!r}: {error}") from error
        if not isinstance(part, wanted):
            raise KindError(
                f"device kind {self.name}: {name} {place!r} is a {type(part).__name__}, "
                f"needs a {wanted.__name__}"
            )
        return part
