"""Where that lies which is built once for a whole run of the tests, by all of its processes."""

from __future__ import annotations

# Names the folder in the environment, which `conftest` makes and removes.
KEPT = "NPU_TESTS_KEPT"
