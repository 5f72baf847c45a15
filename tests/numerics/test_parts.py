"""Networks taken apart: together the parts are the network."""

import numpy as np
from numerics.networks import Builder, inputs_of
from tvm import relax
from tvm.relax import op

from npu_target.devices.gemmini import GemminiConfig
from npu_target.host import build_host, run_host
from npu_target.numerics import FAST, NumericsOptions, decide
from npu_target.numerics.decide import named_operations
from npu_target.numerics.parts import part_module, parts
from npu_target.relax_graph import Graph

CONFIG = GemminiConfig()


def branches():
    """Two layers that share a padded image, halves of a third, and a float end."""

    def body(b):
        b.conv("first", 8)
        b.requantize("first", "tflite_double", 0.002, -20)
        padded = b.pad(-20)
        for name in ("left", "right"):
            b.value = padded
            b.conv(name, 8, zero_point=-20)
            b.requantize(name, "float32_zp", 0.0015, 9)
        halves = b.emit(op.split(b.value, 2, axis=3), "halves")
        ends = []
        for number, name in enumerate(("upper", "lower")):
            b.value = b.emit(relax.TupleGetItem(halves, number), f"{name}_half")
            b.conv(name, 4, zero_point=9)
            ends.append(b.requantize(name, "float32", 0.001, low=0))
        joined = b.emit(op.concat(ends, axis=3), "joined")
        b.emit(op.multiply(op.astype(joined, "float32"), relax.const(0.1, "float32")), "scores")

    return Builder((1, 10, 10, 3)).make(body)


def taken_apart(decided):
    ends = [each.var for each in named_operations(decided.network)]
    return parts(decided.network.graph, ends)


def run_parts(decided, sample):
    """All that goes from part to part, and the network's end."""
    network = decided.network
    values = dict(zip((param.name for param in network.graph.params), sample, strict=True))
    for part in taken_apart(decided):
        mod = part_module(network, decided.forms, part)
        results = run_host(build_host(mod), *(values[p.name] for p in mod["main"].params))
        own = set(part.bindings)
        users = network.graph.users
        outside = [
            var
            for var in part.bindings
            if var in network.graph.output_vars or set(users.get(var, ())) - own
        ]
        values.update(zip((var.name for var in outside), results, strict=True))
    (end,) = network.graph.output_vars
    return values[end.name]


def test_parts_together_are_the_network():
    mod = branches()
    for options in (NumericsOptions(), NumericsOptions(FAST)):
        decided = decide(mod, CONFIG, options)
        assert len(decided.forms) == (5 if options.mode == FAST else 2)
        for sample in inputs_of(mod, 2):
            (wanted,) = run_host(build_host(decided.mod), *sample)
            np.testing.assert_array_equal(run_parts(decided, sample), wanted)


def test_each_binding_is_in_one_part_behind_what_it_needs():
    decided = decide(branches(), CONFIG)
    found = taken_apart(decided)
    names = [part.end.name if part.end is not None else None for part in found]
    assert names == ["first", "left", "right", "upper", "lower", None]
    bindings = [var for part in found for var in part.bindings]
    assert sorted(var.name for var in bindings) == sorted(
        var.name for var in decided.network.graph.order
    )
    by_end = dict(zip(names, ({v.name for v in part.bindings} for part in found), strict=True))
    # The first that needs it has what two share; all halves stay with their tuple.
    assert "padded" in by_end["left"] and "padded" not in by_end["right"]
    assert {"halves", "upper_half", "lower_half"} <= by_end["upper"]
    assert {"joined", "scores"} <= by_end[None]


def test_a_part_has_the_forms_of_its_layers_alone():
    decided = decide(branches(), CONFIG, NumericsOptions(FAST))
    first = taken_apart(decided)[0]
    names = {var.name for var in Graph(part_module(decided.network, decided.forms, first)).order}
    assert {"first_conv", "first_int8"} <= names
    assert not any(name.startswith(("left", "right")) for name in names)
