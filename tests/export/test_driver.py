"""Exports for a driver: of a device whose commands are no RISC-V instructions, and which has no
simulator in C++. The driver of these tests hands the commands to the template's simulator."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from command_lines import export as main
from command_lines import refusal
from exported_networks import HAS_MAKE, cycles_of, make
from my_npu.simulator import simulate
from new_device.installed import my_npu  # noqa: F401  a fixture

from npu_target.device_api.simulators import DeviceRun, Dram, DramRange
from npu_target.export.calls import Place, Value
from npu_target.export.folder import write_folder
from npu_target.export.network import PlacedNetwork
from npu_target.jobs import export as job

needs_make = pytest.mark.skipif(not HAS_MAKE, reason="needs gcc, g++ and make")
pytestmark = pytest.mark.usefixtures("my_npu", "tiny_model")

ARGUMENTS = ("--model=tiny", "--logs=none", "--device=my_npu")
_DRIVER = """
#include "net.h"

extern const net_input golden_input;
extern const net_output golden_output;
net_output result;
void (*issue)(uint64_t funct, uint64_t rs1, uint64_t rs2);
void (*wait_for_all)(void);

void npu_issue(uint64_t funct, uint64_t rs1, uint64_t rs2) { issue(funct, rs1, rs2); }
void npu_wait(void) { wait_for_all(); }

const void *const places[] = {net_arena, net_weights, &golden_input, &result, &golden_output};
void run(void) { net_run(&golden_input, &result); }
"""
# In the order of the driver's places.
_PLACES = (Place.ARENA, Place.CONSTANT, Place.INPUT, Place.OUTPUT)


@pytest.fixture(scope="module")
def exported(my_npu, tiny_model, tmp_path_factory) -> Iterator[tuple[PlacedNetwork, Path]]:  # noqa: F811
    """What was exported, and where; DIR.json beside it."""
    written = []

    def watched(folder, network, *more):  # type: ignore[no-untyped-def]
        written.append(network)
        write_folder(folder, network, *more)

    folder = tmp_path_factory.mktemp("driver") / "net"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "write_folder", watched)
        assert (
            main([*ARGUMENTS, "--for=driver", f"--output={folder}", f"--json={folder}.json"]) == 0
        )
    yield written[0], folder


class Driver:
    """A network in this process. At each wait its commands are compared with those of the next
    layer's program, and run on the simulator, in the network's own memory."""

    def __init__(self, network: PlacedNetwork, library: ctypes.CDLL) -> None:
        self._library, self._network = library, network
        self._issued: list[tuple[int, int, int]] = []
        self._layers = [layer for layer in network.layers if layer.program is not None]
        self._begins = (ctypes.c_uint64 * 5).in_dll(library, "places")
        self.done: list[str] = []
        self.wrong: list[str] = []

    def run(self) -> tuple[bytes, bytes]:
        """The output, and what it is to be."""
        taken = ctypes.CFUNCTYPE(None, *[ctypes.c_uint64] * 3)(self._issue)
        waited = ctypes.CFUNCTYPE(None)(self._wait)
        for name, function in (("issue", taken), ("wait_for_all", waited)):
            pointer = ctypes.cast(function, ctypes.c_void_p).value
            ctypes.c_void_p.in_dll(self._library, name).value = pointer
        self._library.run()
        (output,) = self._network.calls.outputs
        found, wanted = (ctypes.string_at(at, output.nbytes) for at in self._begins[3:])
        return found, wanted

    def _issue(self, *command: int) -> None:
        self._issued.append(command)

    def _wait(self) -> None:
        if not self._issued:  # the layer before was the host's
            return
        layer = self._layers[len(self.done)]
        assert layer.program is not None
        places = zip(layer.program.places, layer.arguments, strict=True)
        addresses = {place.name: self._address(value) for place, value in places}
        if self._issued != layer.program.expand(addresses):
            self.wrong.append(layer.name)
        self._simulate()
        self.done.append(layer.name)
        self._issued.clear()

    def _address(self, value: Value) -> int:
        return self._begins[_PLACES.index(value.place)] + self._network.offset(value)

    def _simulate(self) -> None:
        network = self._network
        (image,), (output,) = network.calls.inputs, network.calls.outputs
        nbytes = network.arena_bytes, network.weights_bytes, image.nbytes, output.nbytes
        blocks = zip(self._begins[:4], nbytes, (True, False, False, True), strict=True)
        words = np.array(self._issued, np.uint64)
        device = DeviceRun(
            numbers={name: int(value) for name, value in network.config.numbers().items()},
            host_cycles=np.ones(len(words), np.uint64),
            functs=words[:, 0],
            words=words[:, 1:],
            dram=Dram([DramRange(at, at, length, writable) for at, length, writable in blocks]),
            computes_values=True,
            checks_races=True,
            max_cycles=0,
        )
        simulate(device)


@pytest.mark.long
@needs_make
def test_a_driver_gets_the_commands_of_the_programs(
    exported: tuple[PlacedNetwork, Path], tmp_path: Path
) -> None:
    network, folder = exported
    done = make(folder, "CFLAGS=-O1 -fPIC")  # as --for says
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "driver.c").write_text(_DRIVER)
    library = tmp_path / "net.so"
    flags = ["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{folder}"]
    parts = [tmp_path / "driver.c", folder / "build/driver/libnet.a", "-lm", "-o", library]
    subprocess.run(["gcc", *flags, *parts], check=True)
    driver = Driver(network, ctypes.CDLL(str(library)))
    found, wanted = driver.run()
    assert driver.done == list(cycles_of(folder)) and not driver.wrong
    assert found == wanted and any(wanted)


@pytest.mark.long
@needs_make
def test_what_needs_a_simulator_says_so(exported: tuple[PlacedNetwork, Path]) -> None:
    _, folder = exported
    assert not (folder / "simulator").exists()
    done = make(folder, "check")
    assert done.returncode != 0
    assert "there is no simulator of this device here: native, check" in done.stderr
    readme = (folder / "README.md").read_text()
    assert "make driver" in readme and "npu_wait" in readme
    for goal in ("make check", "make elf", "make linux", "make count", "simulator/"):
        assert goal not in readme


@pytest.mark.parametrize(
    ("goal", "says"),
    [
        ("native", "there is no simulator in C++ of devices of kind my_npu"),
        ("linux", "commands of my_npu devices are no instructions of a RISC-V core"),
        ("baremetal", "commands of my_npu devices are no instructions of a RISC-V core"),
    ],
)
def test_other_goals_name_the_one_that_works(
    goal: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = f"--output={tmp_path / 'net'}"
    error = refusal(main, capsys, *ARGUMENTS, f"--for={goal}", out)
    assert says in error and error.endswith("; give --for driver\n")
    assert not (tmp_path / "net").exists()
