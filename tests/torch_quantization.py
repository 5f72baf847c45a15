"""Networks quantized in PyTorch, and what they compute, layer by layer."""

import numpy as np
import torch
from torch_networks import saved
from torchao.quantization.pt2e import move_exported_model_to_eval
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from tvm import relax

from npu_target.frontend.torch.program import load_program
from npu_target.host import build_host, run_host
from npu_target.relax_graph import (
    Graph,
    is_tensor,
    op_name,
    replace_function,
    shape_of,
    substitute,
)
from npu_target.torch_quantizer import NpuQuantizer, fit_biases

_QUANTIZE = "quantize_per_tensor.default"


def quantized_file(folder, network, inputs, quantizer=None, name="ptq"):
    """A network after post-training quantization on ``inputs``, each a tensor or a tuple of them,
    exported."""
    samples = [x if isinstance(x, tuple) else (x,) for x in inputs]
    program = torch.export.export(network, samples[0])
    prepared = prepare_pt2e(program.module(), quantizer or NpuQuantizer())
    for sample in samples:
        prepared(*sample)
    return saved(folder, convert_pt2e(prepared), *samples[0], name=name)


def trained_file(folder, network, inputs, steps=3):
    """A network after some steps of quantization-aware training, exported."""
    batch = torch.cat(inputs)
    batches = ({0: torch.export.Dim.DYNAMIC},)
    program = torch.export.export(network.train(), (batch,), dynamic_shapes=batches)
    prepared = prepare_qat_pt2e(program.module(), NpuQuantizer(is_qat=True))
    optimizer = torch.optim.SGD(prepared.parameters(), 0.01)
    for _ in range(steps):
        loss = prepared(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    move_exported_model_to_eval(prepared)
    quantized = fit_biases(convert_pt2e(prepared))
    return saved(folder, quantized, inputs[0], name="qat")


def run_file(file, x):
    """What PyTorch computes for a file."""
    return torch.export.load(file).module()(x).detach().numpy()


def differing_elements(file, net, *inputs):
    """(elements, how many of them differ, by how much at most) of each layer of an imported
    network, by its variable, given the integers that PyTorch has for the layer's own inputs."""
    found = _integers_of_pytorch(file, inputs)
    graph = Graph(net.mod)
    nodes = {}
    for var in graph.order:
        node = net.origins.get(var.name, "").rpartition("(")[2].rstrip(")")
        # Rows of an image have their elements in another order here.
        flattened = op_name(graph.value[var]) == "relax.reshape"
        if var.name in net.quantizations and node in found and not flattened:
            wanted, scale, zero_point = found[node]
            if wanted.dtype == np.uint8:
                # 128 less here, zero points as well.
                wanted = (wanted.astype("int16") - 128).astype("int8")
                zero_point -= 128
            by = net.quantizations[var.name]
            if by.zero_point != (zero_point,) or np.float32(by.scale) != np.float32(scale):
                continue  # a part of integers of another scale, before it is requantized
            if wanted.ndim == 4:
                wanted = wanted.transpose(0, 2, 3, 1)
            if is_tensor(var) and wanted.shape == shape_of(var):
                nodes[var] = np.ascontiguousarray(wanted)
    results = run_host(
        build_host(_layer_by_layer(net.mod, graph, list(nodes))),
        *(x.numpy() for x in inputs),
        *nodes.values(),
    )
    report = {}
    for (var, wanted), result in zip(nodes.items(), results, strict=True):
        off = np.abs(result.astype(int) - wanted)
        report[var.name] = (off.size, int((off > 0).sum()), int(off.max()))
    return report


def _integers_of_pytorch(file, inputs):
    """What each layer is quantized to, and its scale and zero point, by the names of the nodes
    before its quantization."""
    program = load_program(file, {})
    found = {}

    class Recorder(torch.fx.Interpreter):
        def run_node(self, node):
            value = super().run_node(node)
            if getattr(node.target, "__name__", "") == _QUANTIZE:
                source = node.args[0]
                while isinstance(source, torch.fx.Node) and source.op == "call_function":
                    if source.target.__name__ == _QUANTIZE:
                        break
                    found.setdefault(source.name, (value.numpy(), *node.args[1:3]))
                    source = source.args[0]
            return value

    own = {**program.state_dict, **program.constants}
    given = iter(inputs)
    specs = program.graph_signature.input_specs
    arguments = [own[spec.target] if spec.target in own else next(given) for spec in specs]
    with torch.no_grad():
        Recorder(program.graph_module).run(*arguments)
    return found


def _layer_by_layer(mod, graph, layers):
    """A function of the network's inputs and the results of ``layers`` that computes each layer
    from the given results of those before."""
    builder = relax.BlockBuilder()
    given = {var: relax.Var(f"{var.name}_given", var.ty) for var in layers}
    params = [relax.Var(param.name, param.ty) for param in graph.params]
    values = dict(zip(graph.params, params, strict=True))
    computed = []
    with builder.function("main", [*params, *given.values()]):
        with builder.dataflow():
            for var in graph.order:
                values[var] = builder.emit(substitute(graph.value[var], values), var.name)
                if var in given:
                    computed.append(values[var])
                    values[var] = given[var]
            results = builder.emit_output(relax.Tuple(computed))
        builder.emit_func_output(results)
    return replace_function(mod, "main", builder.get())
