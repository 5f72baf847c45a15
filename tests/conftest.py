"""Settings for all tests."""

from hypothesis import Phase, settings

# Examples take milliseconds to seconds each on the simulated device: no deadline, and the time
# that an explanation of a failure takes is better spent by the reader.
settings.register_profile(
    "npu_target", deadline=None, phases=[phase for phase in Phase if phase is not Phase.explain]
)
settings.load_profile("npu_target")
