"""Default schedules that were chosen before, kept in the user's cache folder.

To choose one takes a processor a second or two, and most commands need those of all of a network's
layers. What is chosen follows from the operator, the device's config, and the code that chooses.
"""

from __future__ import annotations

import hashlib
import json

from ..device import DeviceConfig
from ..kept import Kept, package_of
from ..schedule_rules import default_choice, knows_default, remember_default
from ..schedule_rules.choice import of_json, to_json
from ..topi import Operator


class KeptDefaults:
    """Those of a device."""

    def __init__(self, config: DeviceConfig) -> None:
        self._config = config

    def recall(self, operator: Operator) -> bool:
        """Have `default_schedule` answer at once for the canonical operator, if that was chosen
        before, by this process or another; whether it was."""
        if knows_default(operator, self._config):
            return True
        data = self._kept(operator).read(self._digest(operator))
        if data is None:
            return False
        remember_default(operator, self._config, of_json(json.loads(data)))
        return True

    def keep(self, operator: Operator) -> None:
        """Keep what `default_schedule` takes for the canonical operator."""
        data = json.dumps(to_json(default_choice(operator, self._config))).encode()
        self._kept(operator).write(self._digest(operator), data)

    def _kept(self, operator: Operator) -> Kept:
        packages = {package_of(type(operator)), package_of(type(self._config))}
        return Kept("defaults", packages)

    def _digest(self, operator: Operator) -> str:
        kind = type(operator)
        name = [kind.__module__, kind.__qualname__, operator.attrs(), self._config.hash]
        return hashlib.sha256(json.dumps(name).encode()).hexdigest()[:32]
