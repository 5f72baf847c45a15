"""The README of an export: its files, its memory, its layers."""

from __future__ import annotations

from collections.abc import Iterator

from ..device import kind_of
from ..simulator_sources import has_simulator
from .calls import Place, Tensor, Value
from .network import PlacedNetwork

# What can be made of an export, as far as its device allows.
_SIMULATOR_ROW = ("| `simulator/` | the device simulated, and what kernels are compared with |",)
_CHECK = (
    "`make check` builds all for this machine, with the device simulated, and runs it: "
    "the outputs are compared with `golden/`, each kernel's commands with its program's, "
    "its cycles with the build's.",
    "",
)
_CORE = (
    "`make elf` links it for the device's core without an operating system (picolibc, "
    "`FLASH`, `FLASH_BYTES`, `RAM`, `RAM_BYTES`, `STACK_BYTES` say where; it prints by "
    "`platform/htif.c`), `make linux` for Linux on it, whose kernel has to let programs "
    "use the device.",
    "",
)
_EMULATED = (
    "`make check-elf` and `make check-emulated` run the two on cores that "
    "QEMU emulates; their command instructions trap, and the simulator takes them.",
    "",
)
_DRIVER = (
    "`make driver` makes a library for any host, by `CC` and `AR`: `net_run` and all that it "
    "needs, with each command a call of `void npu_issue(uint64_t funct, uint64_t rs1, uint64_t "
    "rs2)`, each wait for the device one of `void npu_wait(void)`; the device's driver defines "
    "both. Any C11 compiler with GNU's `asm` does for the network itself, which asks for no "
    "operating system and no heap.",
    "",
)


def readme(network: PlacedNetwork, cycles: dict[str, int]) -> str:
    """`README.md`. `cycles` are of each program, simulated."""
    config, calls = network.config, network.calls
    is_simulated = has_simulator(config.kind)
    has_core = kind_of(config).start_header_at is not None
    total = sum(cycles[layer.program.name] for layer in network.layers if layer.program is not None)
    kernels = {kernel.name for kernel in network.kernels.values()}
    functions = {function.name for function in network.functions.values()}
    n_device = sum(layer.program is not None for layer in network.layers)
    sizes = [
        ("`net_arena`, read and written", network.arena_bytes),
        ("`net_weights`, read", network.weights_bytes),
        *(
            (f"input `{tensor.name}`, {tensor.dtype}{list(tensor.shape)}", tensor.nbytes)
            for tensor in calls.inputs
        ),
        *(
            (f"output `{tensor.name}`, {tensor.dtype}{list(tensor.shape)}", tensor.nbytes)
            for tensor in calls.outputs
        ),
    ]
    arena = [
        f"| {network.offset(value):,} | {tensor.nbytes:,} | {tensor.dtype}{list(tensor.shape)} | "
        f"{first} to {last} |"
        for value, tensor, first, last in _arena_rows(network)
    ]
    layers = [
        f"| {index} | {layer.name} | "
        + (
            f"device | {cycles[layer.program.name]:,} |"
            if layer.program is not None
            else "host | |"
        )
        + (f" {layer.instructions:,} |" if layer.instructions is not None else " |")
        for index, layer in enumerate(network.layers)
    ]
    least = network.plan.least_bytes
    return "\n".join(
        [
            f"# {network.model} for {config.name}",
            "",
            f"C for the host of a device `{config.name}` (hash `{config.hash}`): "
            f"{len(network.layers)} layers, {n_device} of them on the device by {len(kernels)} "
            f"kernels, the others by {len(functions)} functions of the host. "
            f"{total:,} simulated cycles on the device.",
            "",
            "| file | what |",
            "|---|---|",
            "| `net.h`, `net.c` | `net_run(&input, &output)`; the layers in order, the arena |",
            "| `kernels/*.c` | the device's kernels: loops around commands |",
            "| `host.c` | what the host computes; needs `-lm` and `-ffp-contract=off` |",
            "| `npu.h`, `npu_start.h` | the commands; what comes before the first one |",
            "| `weights.bin`, `data.S` | weights as the kernels load them, and their symbol |",
            "| `golden/` | an input and its output, the bytes of `net_input`, `net_output` |",
            "| `main.c`, `platform/` | a program that runs the network once and compares |",
            *(_SIMULATOR_ROW if is_simulated else ()),
            "",
            *(_CHECK if is_simulated else ()),
            *(_CORE if has_core else ()),
            *(_EMULATED if has_core and is_simulated else ()),
            *_DRIVER,
            "## Memory",
            "",
            "| block | bytes |",
            "|---|---|",
            *(f"| {what} | {nbytes:,} |" for what, nbytes in sizes),
            "",
            "Tensors between layers share the arena, each from the first layer that has it to the "
            f"last one. No plan needs less than {least:,} bytes. All begin at multiples of "
            f"{network.line_bytes}.",
            "",
            "| offset | bytes | tensor | layers |",
            "|---|---|---|---|",
            *arena,
            "",
            *(_quantizers(network) if network.quantizers else ()),
            "## Layers",
            "",
            "Instructions are the host's: those that issue a kernel's commands, as the simulator "
            "charges them, and an estimate for the functions of the host."
            + (" `make count` counts them by an emulator." if has_core and is_simulated else ""),
            "",
            "| | layer | on the | cycles | instructions |",
            "|---|---|---|---|---|",
            *layers,
            "",
        ]
    )


def _quantizers(network: PlacedNetwork) -> Iterator[str]:
    yield from ("## Inputs", "", "The inputs are what these would make of floats. `round_float32`")
    yield from ("rounds half to even, as `nearbyintf` does.", "", "```c")
    yield "\n".join(network.quantizers).rstrip()
    yield from ("```", "")


def _arena_rows(network: PlacedNetwork) -> Iterator[tuple[Value, Tensor, int, int]]:
    """Each tensor with the first and the last layer that has it."""
    users: dict[int, list[int]] = {}
    for index, layer in enumerate(network.layers):
        for value in layer.arguments:
            if value.place is Place.ARENA:
                users.setdefault(value.number, []).append(index)
    for number, tensor in enumerate(network.arena):
        yield Value(Place.ARENA, number), tensor, users[number][0], users[number][-1]
