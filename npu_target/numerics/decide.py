"""From a network in integer form to what the partitioner takes: by which numbers the device
computes each layer, or that the host does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tvm import relax
from tvm.ir import IRModule

from ..device import DeviceConfig, kind_of
from ..integer import Requantize, operation_of
from ..integer.average_pool import AveragePool
from ..integer.mean import Mean
from ..partition import Partitioned
from ..relax_graph import dtype_of, op_name
from .additions import addition_candidate
from .averages import average_candidate
from .errors import NumericsError
from .forms import Form, ProductForm
from .layer import Candidate, Layer, Named, Network
from .options import NumericsOptions
from .products import product_of
from .requantizing import product_candidate
from .scale_widths import Cycles, ScaleWidth, partitioned_quickly, scale_widths
from .with_forms import with_forms

_PRODUCTS = ("relax.nn.conv2d", "relax.matmul")
_VIEWS = ("reshape", "expand_dims", "squeeze", "flatten")


@dataclass(frozen=True)
class Decided:
    """A network with its layers spelled as they were decided.

    mod : for :func:`npu_target.partition.partition`.
    layers : in the order of their results.
    host : names of bindings that the partitioner shall leave on the host.
    network : what it was made of, the exact one.
    forms : by the variable in ``network`` whose result they compute.
    """

    mod: IRModule
    layers: tuple[Layer, ...]
    host: frozenset[str]
    network: Network
    forms: Mapping[relax.Var, Form]

    @property
    def reasons(self) -> dict[str, str]:
        """Of layers on the host, by their names, why."""
        return {layer.name: layer.why for layer in self.layers if not layer.is_on_device}

    @property
    def remarks(self) -> dict[str, str]:
        """Of layers on the device, by the names of their products."""
        said = {layer.name: layer.remark for layer in self.layers if layer.remark}
        products = [form for form in self.forms.values() if isinstance(form, ProductForm)]
        return {form.product.anchor.name: said[form.name] for form in products if form.name in said}


def decide(
    mod: IRModule,
    config: DeviceConfig,
    options: NumericsOptions | None = None,
    zero_points: Mapping[str, int] | None = None,
    cycles: Cycles | None = None,
) -> Decided:
    """Choose a form for each layer of ``main``.

    zero_points : of ``main``'s parameters, by their names, where they are known.
    cycles : of an operator on the device, where it shall count what scales for blocks of channels
        cost (see `NumericsOptions.most_scale_excess`).

    Raises
    ------
    NumericsError
        for a layer that is not there, and for one that the device shall compute and cannot.
    GraphError
        for a function that is not a straight line.
    """
    options = options or NumericsOptions()
    kind = kind_of(config)
    scaled = config.dim if kind.features(config).scales_blocks else None
    network = Network(mod, kind.numbers.rule, zero_points or {}, scaled)
    named = named_operations(network)
    products = _spelled_products(network, named)
    options.check_names([layer.var.name for layer in named] + [var.name for var in products])
    forms: dict[relax.Var, Form] = {}
    layers: dict[relax.Var, Layer] = {}
    host: set[str] = set()
    for each in named:
        layers[each.var], form = _choose(network, each, options)
        if form is not None:
            forms[each.var] = form
        elif each.var.name in options.host:
            host |= _product_name(network, each)
    for var in products:
        is_on_host = var.name in options.host
        host |= {var.name} if is_on_host else set()
        layers[var] = _spelled_layer(network, var, is_on_host)

    def decided() -> Decided:
        ordered = tuple(layers[var] for var in network.graph.order if var in layers)
        made = with_forms(network, network.graph, forms)
        return Decided(made, ordered, frozenset(host), network, forms)

    result = decided()
    of_blocks = _scaled_by_block(named, forms)
    if cycles is None or scaled is None or not of_blocks:
        return result
    partitioned = partitioned_quickly(result.mod, config, result.host)
    most = options.most_scale_excess
    for name, width in scale_widths(partitioned, [*of_blocks], scaled, cycles, most).items():
        each = of_blocks[name]
        wider = _with_width(network, each, options, scaled, width)
        if wider is not None:
            layers[each.var], forms[each.var] = wider
    return decided()


def named_operations(network: Network) -> list[Named]:
    """The named operations of a network, in order."""
    found = []
    for var in network.graph.order:
        operation = operation_of(network.mod, network.graph.value[var])
        if operation is not None:
            found.append(Named(var, *operation))
    return found


def check_all_on_device(partitioned: Partitioned) -> None:
    """Raise NumericsError with all that the host computes, and why, if there is anything. What is
    the same memory in another shape nobody computes."""
    left = [
        f"{decision.name} ({decision.op}): {decision.reason}"
        for decision in partitioned.decisions
        if decision.where == "host" and decision.op not in _VIEWS
    ]
    if left:
        raise NumericsError("not all is on the device: " + "; ".join(left))


def candidate_of(
    network: Network, named: Named, is_fast: bool, least_snr_db: float
) -> Candidate | str:
    """The device's form of a named operation, an exact one unless ``is_fast``; or why there is
    none."""
    if isinstance(named.operation, Requantize):
        return product_candidate(network, named, is_fast, least_snr_db)
    if isinstance(named.operation, (AveragePool, Mean)):
        return average_candidate(network, named, is_fast)
    if len(named.inputs) == 2:
        return addition_candidate(network, named, is_fast)
    return f"the device has no operation for {named.operation.op}"


def _choose(network: Network, named: Named, options: NumericsOptions) -> tuple[Layer, Form | None]:
    name, op = named.var.name, named.operation.op
    if name in options.host:
        return Layer(name, op, False, True, "as it is", "asked for: host"), None
    least = float("-inf") if name in options.device else options.least_weights_snr_db
    found = candidate_of(network, named, options.is_fast(name), least)
    if isinstance(found, Candidate):
        layer = Layer(name, op, True, found.is_exact, found.text, found.why)
        return layer, found.form
    if name in options.device:
        raise NumericsError(f"on-device: {name} cannot be computed there: {found}")
    return Layer(name, op, False, True, "as it is", found), None


def _scaled_by_block(named: Sequence[Named], forms: Mapping[relax.Var, Form]) -> dict[str, Named]:
    """Layers whose weights have taken in the channels' scales but for one of each block, by the
    names of their products."""
    found = {}
    for each in named:
        form = forms.get(each.var)
        if not isinstance(form, ProductForm) or form.weight is None:
            continue
        if isinstance(form.rescale.scale, tuple):
            found[form.product.anchor.name] = each
    return found


def _with_width(
    network: Network, named: Named, options: NumericsOptions, block: int, width: ScaleWidth
) -> tuple[Layer, Form] | None:
    """A layer with scales for wider blocks than of ``block`` channels, or None where its weights
    would lose too much by that."""
    layer, form = _choose(replace(network, scaled_channels=width.channels), named, options)
    if form is None:
        return None
    remark = f"a scale for each {block} channels takes {width.excess:.0%} more cycles"
    return replace(layer, remark=remark), form


def _product_name(network: Network, named: Named) -> set[str]:
    product = product_of(network.graph, named.inputs[0])
    return set() if isinstance(product, str) else {product.anchor.name}


def _spelled_products(network: Network, named: Sequence[Named]) -> list[relax.Var]:
    """Products that no named operation requantizes: spelled as the device does it, or not at
    all."""
    graph = network.graph
    taken = set()
    for each in named:
        product = product_of(graph, each.inputs[0])
        if not isinstance(product, str):
            taken.add(product.anchor)
    return [
        var
        for var in graph.order
        if op_name(graph.value[var]) in _PRODUCTS and dtype_of(var) == "int32" and var not in taken
    ]


def _spelled_layer(network: Network, var: relax.Var, is_on_host: bool) -> Layer:
    op = str(op_name(network.graph.value[var])).removeprefix("relax.nn.").removeprefix("relax.")
    why = "asked for: host" if is_on_host else "the network spells its requantization itself"
    return Layer(var.name, op, not is_on_host, True, "as it is", why)
