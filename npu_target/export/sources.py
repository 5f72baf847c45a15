"""The C of a network around its kernels: `net.h`, `net.c`, `host.c`, and what the simulator has to
know of its layers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..program import Program
from .c_text import Names, c_type, float_text
from .calls import Place, Tensor, Value
from .expressions import HELPERS, helpers
from .network import Layer, PlacedNetwork

# What tells an export from other folders.
MADE = "Made by npu-target export; not to be changed by hand."


def net_header(network: PlacedNetwork) -> str:
    """`net.h`: all that a user of the network has to know."""
    config = network.config
    return f"""\
// {network.model} for {config.name}.
// {MADE}
#ifndef NET_H
#define NET_H

#include <stddef.h>
#include <stdint.h>

#define NET_MODEL "{network.model}"
#define NET_DEVICE "{config.name}"
#define NET_DEVICE_HASH "{config.hash}"
#define NET_LAYERS {len(network.layers)}
#define NET_OUTPUTS {len(network.calls.outputs)}
#define NET_ARENA_BYTES {network.arena_bytes}
#define NET_WEIGHTS_BYTES {network.weights_bytes}

// Where tensors begin: at multiples of what the device asks for, and of a line of its memory.
#define NET_ALIGNED __attribute__((aligned({network.line_bytes})))

#ifdef __cplusplus
extern "C" {{
#endif

// Row-major arrays.
typedef struct net_input {{
{_fields(network.calls.inputs)}}} net_input;

typedef struct net_output {{
{_fields(network.calls.outputs)}}} net_output;

{_scales(network)}\
// Runs the network once. Not reentrant: the tensors between the layers lie in one static arena.
void net_run(const net_input *input, net_output *output);

// With -DNET_HOOKS net_run calls these two around each layer; who uses it defines them.
void net_layer_begin(unsigned layer);
void net_layer_end(unsigned layer);

typedef struct net_layer {{
  const char *name;
  int on_device;
}} net_layer;
extern const net_layer net_layers[NET_LAYERS];

typedef enum net_type {{ NET_INTEGER, NET_FLOAT32, NET_FLOAT64 }} net_type;
typedef struct net_tensor {{
  const char *name;
  net_type type;
  size_t offset;  // in net_output
  size_t elements;
  size_t element_bytes;
}} net_tensor;
extern const net_tensor net_output_tensors[NET_OUTPUTS];

extern uint8_t net_arena[NET_ARENA_BYTES];
extern const uint8_t net_weights[];  // weights.bin

#ifdef __cplusplus
}}
#endif

#endif
"""


def _fields(tensors: Sequence[Tensor]) -> str:
    lines = []
    for tensor, name in zip(tensors, field_names(tensors), strict=True):
        shape = ", ".join(map(str, tensor.shape))
        array = f"{c_type(tensor.dtype, tensor.name)} {name}[{tensor.elements}]"
        lines.append(f"  NET_ALIGNED {array};  // [{shape}]\n")
    return "".join(lines)


def _scales(network: PlacedNetwork) -> str:
    """What integers at the network's ends are worth, where that is a number."""
    ends = (
        ("INPUT", "FACTOR", network.calls.inputs, network.scales.input_factors),
        ("OUTPUT", "SCALE", network.calls.outputs, network.scales.output_factors),
    )
    lines = [
        f"#define NET_{end}_{name.upper()}_{word} {float_text(factor, 'float32')}\n"
        for end, word, tensors, factors in ends
        for name, factor in zip(field_names(tensors), factors, strict=False)
        if factor is not None
    ]
    if not lines:
        return ""
    return f"""\
// What the network has inside: a float times its FACTOR, rounded half to even, is the integer of an
// input; an integer times its SCALE is the float of an output.
{"".join(lines)}
"""


def field_names(tensors: Sequence[Tensor]) -> list[str]:
    """What a network's inputs, or outputs, are called in C."""
    names = Names()
    return [names.fresh(tensor.name) for tensor in tensors]


def net_source(network: PlacedNetwork) -> str:
    """`net.c`: the calls in their order."""
    kernels = {network.kernels[name].name: network.kernels[name] for name in network.kernels}
    declared = [
        f"void {kernel.name}({_kernel_parameters(kernel.program, len(kernel.varying))});"
        for kernel in kernels.values()
    ]
    functions = {function.name: function for function in network.functions.values()}
    declared += [f"void {name}({function.parameters});" for name, function in functions.items()]
    names = [
        f'    {{"{layer.name}", {int(layer.program is not None)}}},' for layer in network.layers
    ]
    outputs = [
        f'    {{"{name}", {_kind(tensor)}, offsetof(net_output, {name}), {tensor.elements}, '
        f"{tensor.nbytes // max(1, tensor.elements)}}},"
        for tensor, name in zip(
            network.calls.outputs, field_names(network.calls.outputs), strict=True
        )
    ]
    calls = [
        line for index, layer in enumerate(network.layers) for line in _call(network, index, layer)
    ]
    return "\n".join(
        [
            f"// The layers of {network.model}, one after the other.",
            f"// {MADE}",
            '#include "net.h"',
            "",
            "#include <stdbool.h>",
            "#include <string.h>",
            "",
            '#include "npu.h"',
            "",
            *declared,
            "",
            "#ifdef NET_HOOKS",
            "#define LAYER_BEGIN(layer) net_layer_begin(layer)",
            "#define LAYER_END(layer) net_layer_end(layer)",
            "#else",
            "#define LAYER_BEGIN(layer) ((void)0)",
            "#define LAYER_END(layer) ((void)0)",
            "#endif",
            "",
            "const net_layer net_layers[NET_LAYERS] = {",
            *names,
            "};",
            "",
            "const net_tensor net_output_tensors[NET_OUTPUTS] = {",
            *outputs,
            "};",
            "",
            "NET_ALIGNED uint8_t net_arena[NET_ARENA_BYTES];",
            f"_Static_assert(NET_ARENA_BYTES % {network.line_bytes} == 0, "
            '"the arena is whole lines");',
            "",
            "void net_run(const net_input *input, net_output *output) {",
            "  npu_fence();  // the device sees what the caller wrote",
            *calls,
            "}",
            "",
        ]
    )


def _call(network: PlacedNetwork, index: int, layer: Layer) -> Iterable[str]:
    yield ""
    yield f"  // {_described(network, layer)}"
    yield f"  LAYER_BEGIN({index});"
    if layer.program is not None:
        kernel = network.kernels[layer.program.name]
        arguments = [_address(network, value) for value in layer.arguments]
        words = [f"{word:#x}u" for word in kernel.words(layer.program)]
        yield f"  {kernel.name}({', '.join([*arguments, *words])});"
    elif layer.host is not None:
        function = network.functions[layer.host.name]
        arrays = (*layer.host.arrays, *layer.host.workspaces)
        arguments = [
            _typed(network, value, array.dtype, array.is_written)
            for value, array in zip(layer.arguments, arrays, strict=True)
        ]
        yield f"  {function.name}({', '.join([*arguments, *function.arguments(layer.host)])});"
    else:
        source, target = layer.arguments
        nbytes = network.tensor(target).nbytes
        yield f"  memcpy({_address(network, target)}, {_address(network, source)}, {nbytes});"
    yield "  npu_fence();"
    yield f"  LAYER_END({index});"


def _described(network: PlacedNetwork, layer: Layer) -> str:
    where = "device" if layer.program is not None else "host"
    tensors = []
    for value in layer.arguments:
        tensor = network.tensor(value)
        if value.place is not Place.CONSTANT:
            shape = "x".join(map(str, tensor.shape))
            tensors.append(f"{tensor.name} {tensor.dtype}[{shape}]")
    return f"{layer.name}, on the {where}: {', '.join(tensors)}"


def _address(network: PlacedNetwork, value: Value) -> str:
    """Of a tensor, as a pointer of some type."""
    if value.place is Place.ARENA:
        return f"net_arena + {network.offset(value)}"
    if value.place is Place.CONSTANT:
        return f"net_weights + {network.offset(value)}"
    if value.place is Place.INPUT:
        return f"input->{field_names(network.calls.inputs)[value.number]}"
    return f"output->{field_names(network.calls.outputs)[value.number]}"


def _typed(network: PlacedNetwork, value: Value, dtype: str, is_written: bool) -> str:
    address = _address(network, value)
    if value.place in (Place.INPUT, Place.OUTPUT):
        return address
    const = "" if is_written else "const "
    return f"({const}{c_type(dtype, network.model)} *)({address})"


def _kernel_parameters(program: Program, n_words: int) -> str:
    n_tensors = len(program.args) - n_words
    tensors = [
        f"{'const ' if arg.role == 'input' else ''}void *" for arg in program.args[:n_tensors]
    ]
    return ", ".join([*tensors, *(["uint64_t"] * n_words)])


def _kind(tensor: Tensor) -> str:
    return {"float32": "NET_FLOAT32", "float64": "NET_FLOAT64"}.get(tensor.dtype, "NET_INTEGER")


def host_source(network: PlacedNetwork) -> str:
    """`host.c`: what the host computes. Exact only without contraction: -ffp-contract=off."""
    functions = {function.name: function for function in network.functions.values()}
    body = "\n".join(function.text for function in functions.values())
    defined = helpers(body)
    macros = f"{HELPERS}\n{defined}\n" if defined else ""
    declared = "".join(f"void {f.name}({f.parameters});\n" for f in functions.values())
    return f"""\
// What the host computes between the device's layers, in the order of operations of TVM's build.
// To be compiled with -ffp-contract=off, or products and sums are rounded once instead of twice.
// {MADE}
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

{macros}{declared}
{body}"""


def layer_table(network: PlacedNetwork, cycles: dict[str, int], programs: list[Program]) -> str:
    """`layers.inc`: what the simulator has to know of each layer. `programs` is their order in
    `programs.bin`, `cycles` what each takes."""
    begins, end = {}, 0
    for program in programs:
        begins[program.name] = end, len(program.to_bytes())
        end += len(program.to_bytes())
    lines = [f"// {MADE}"]
    for layer in network.layers:
        if layer.program is None:
            lines.append(f'{{"{layer.name}", 0, 0, 0, {{}}}},')
            continue
        begin, nbytes = begins[layer.program.name]
        arguments = [
            f"{{Place::{value.place.name}, {network.offset(value)}}}" for value in layer.arguments
        ]
        lines.append(
            f'{{"{layer.name}", {begin}, {nbytes}, {cycles[layer.program.name]}, '
            f"{{{', '.join(arguments)}}}}},"
        )
    return "\n".join([*lines, ""])
