"""What layers cost: together what the whole network does."""

import pytest
from numerics.networks import Builder
from tvm.relax import op

from npu_target.accuracy.layer_costs import REST, Cost, LayerCosts, total
from npu_target.devices.gemmini import GemminiConfig
from npu_target.export.calls import calls_of
from npu_target.export.network import place
from npu_target.numerics import FAST, NumericsOptions, decide
from npu_target.partition import partition
from npu_target.tuning.choose import Chooser
from npu_target.tuning.layers import layers_of

CONFIG = GemminiConfig()


@pytest.fixture(scope="module")
def network():
    def body(b):
        b.conv("first", 64)  # whole lines of the L2 in int8 as in int32
        b.requantize("first", "tflite_double", 0.002, -20)
        b.emit(op.nn.max_pool2d(b.value, [2, 2], [2, 2], layout="NHWC"), "pool")
        b.pad(-20)
        b.conv("second", 64, zero_point=-20)
        b.requantize("second", "float32", 0.0015, low=0)
        b.conv("third", 8, depthwise=False)
        b.requantize("third", "float32", 0.0015)
        b.emit(op.astype(b.value, "float32"), "end")

    return Builder((1, 12, 12, 3)).make(body)


@pytest.fixture(scope="module")
def costs():
    return LayerCosts(CONFIG, Chooser(CONFIG, None))


def whole(decided):
    """Cycles and instructions of the network in one piece, as a build and an export have it."""
    chooser = Chooser(CONFIG, None)
    made = partition(decided.mod, CONFIG, chooser.device_function, decided.host)
    results = chooser.results(layers_of(region.operator for region in made.regions))
    placed = place("net", CONFIG, calls_of(made.mod))
    instructions = [layer.host.instructions for layer in placed.layers if layer.host]
    return Cost(sum(r.cycles * r.layer.count for r in results), sum(instructions))


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [NumericsOptions(), NumericsOptions(FAST), NumericsOptions(host=frozenset({"second"}))],
    ids=["exact", "fast", "host"],
)
def test_layers_together_cost_what_the_network_does(options, network, costs):
    decided = decide(network, CONFIG, options)
    found = costs.of(decided)
    assert [each.name for each in found] == ["first", "pool", "second", "third", REST]
    wanted = whole(decided)
    assert total(found).cycles == wanted.cycles > 0
    assert total(found).instructions == wanted.instructions


def test_what_exactness_costs(network, costs):
    exact = {each.name: each for each in costs.of(decide(network, CONFIG))}
    fast = {each.name: each for each in costs.of(decide(network, CONFIG, NumericsOptions(FAST)))}
    # The host requantizes in the one, the device in the other, which stores a quarter as much.
    assert exact["first"].layer.where == "host" and fast["first"].layer.where == "device"
    assert exact["first"].cost.instructions > 10 * 10 * 64
    assert fast["first"].cost.instructions == 0
    assert 0 < fast["first"].cost.cycles < exact["first"].cost.cycles
    # The device's own rule is exact.
    assert exact["second"].cost == fast["second"].cost
    assert exact["pool"].layer is None and exact["pool"].cost.cycles > 0


def test_what_is_asked_for_on_the_host_costs_the_device_nothing(network, costs):
    options = NumericsOptions(host=frozenset({"second"}))
    found = {each.name: each for each in costs.of(decide(network, CONFIG, options))}
    assert found["second"].cost.cycles == 0
    # Two instructions a product at least.
    assert found["second"].cost.instructions > 2 * 25 * 64 * 9 * 64


def test_costs_that_nobody_knows():
    assert Cost(3, 5) + Cost(4, 6) == Cost(7, 11)
    assert Cost(3, None) + Cost(4, 6) == Cost(7, None)
