"""What a user chooses between, of a network that comes quantized: each layer exactly and by the
device's own numbers, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..device import DeviceConfig
from ..inputs import Samples
from ..numerics import EXACT, FAST, Decided, Layer, NumericsOptions
from ..numerics.differences import Apart, Differences, differences
from ..tuning.choose import Chooser
from .layer_costs import Cost, LayerCosts, total
from .ranks import Ranks

HOST, DEVICE = "host", "device"
CHOSEN = "as chosen"

Decide = Callable[[NumericsOptions], Decided]


@dataclass(frozen=True)
class Way:
    """One way to compute a layer. ``apart`` : by itself, from what it should give; None of what is
    no layer, and of one that has no difference by proof."""

    layer: Layer | None
    cost: Cost
    apart: Apart | None = None


@dataclass(frozen=True)
class Choice:
    """A layer, or what else the device computes.

    exact : with the network's own results. device : as the device does it, None where it has no
    other way to. chosen : `EXACT`, `DEVICE` or `HOST`, as was asked for. in_fast : whether
    ``--numerics fast`` takes ``device``.
    """

    name: str
    exact: Way
    device: Way | None
    chosen: str
    in_fast: bool


@dataclass(frozen=True)
class Network:
    """All layers together in one way. ``outputs`` : how far off they are."""

    name: str
    cost: Cost
    outputs: Apart
    ranks: Ranks


@dataclass(frozen=True)
class Choices:
    """rows : layers in order. networks : exactly, fast, and as chosen if that is neither."""

    model: str
    device: str
    samples: int
    rows: tuple[Choice, ...]
    networks: tuple[Network, ...]


def choices(
    model: str,
    config: DeviceConfig,
    decide: Decide,
    asked: NumericsOptions,
    chooser: Chooser,
    samples: Samples,
    labels: Sequence[int] | None,
    progress: Callable[[str], None] = lambda text: None,
) -> Choices:
    """Compare the ways that layers can be computed.

    decide : a network's layers, by options. asked : what was chosen. chooser : of schedules, whose
    cycles count. samples : what results are compared for. labels : the right class of each sample,
    if they are known.

    Raises as ``decide`` and :meth:`npu_target.tuning.choose.Chooser.results` do.
    """
    progress("comparing its numbers with the device's")
    exact, fast, chosen = map(decide, (NumericsOptions(EXACT), NumericsOptions(FAST), asked))
    device = decide(NumericsOptions(FAST, least_weights_snr_db=float("-inf")))
    runs: dict[tuple[Layer, ...], tuple[Differences, Ranks]] = {}

    def run(decided: Decided) -> tuple[Differences, Ranks]:
        if decided.layers not in runs:
            ranks = Ranks(labels)
            progress(f"running {len(samples)} inputs")
            runs[decided.layers] = differences(decided, samples, ranks.add), ranks
        return runs[decided.layers]

    costs = LayerCosts(config, chooser, lambda name: progress(f"choosing and checking: {name}"))
    alone = {each.layer.name: each.alone for each in run(device)[0].layers}
    taken = {layer.name: layer for layer in chosen.layers}
    in_fast = {layer.name for layer in fast.layers if layer.is_on_device}
    rows = []
    for one, other in zip(costs.of(exact), costs.of(device), strict=True):
        way = None
        if one.layer != other.layer:
            way = Way(other.layer, other.cost, alone[one.name])
        choice = _choice(one.layer, way, taken.get(one.name), asked)
        rows.append(Choice(one.name, Way(one.layer, one.cost), way, choice, one.name in in_fast))
    networks = [_exact(total(costs.of(exact)), *run(fast))]
    for name, decided in ((FAST, fast), (CHOSEN, chosen)):
        found, ranks = run(decided)
        networks.append(Network(name, total(costs.of(decided)), _all(found.outputs), ranks))
    if asked in (NumericsOptions(EXACT), NumericsOptions(FAST)):
        networks.pop()
    return Choices(model, config.name, len(samples), tuple(rows), tuple(networks))


def _choice(
    exact: Layer | None, device: Way | None, taken: Layer | None, asked: NumericsOptions
) -> str:
    if exact is None or taken is None:
        return ""
    if exact.name in asked.host:
        return HOST
    return DEVICE if device is not None and taken == device.layer else EXACT


def _exact(cost: Cost, found: Differences, ranks: Ranks) -> Network:
    """What any run says of the exact network: which is what the others are compared with."""
    outputs = Apart(elements=sum(apart.elements for apart in found.outputs))
    return Network(EXACT, cost, outputs, Ranks(ranks.labels, ranks.right, ranks.right))


def _all(outputs: Sequence[Apart]) -> Apart:
    """All outputs as one."""
    result = replace(outputs[0])
    for other in outputs[1:]:
        result.elements += other.elements
        result.differ += other.differ
        result.most = max(result.most, other.most)
        result.signal += other.signal
        result.noise += other.noise
    return result
