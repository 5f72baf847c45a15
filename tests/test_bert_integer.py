"""BERT with int8 products: each product against NumPy, the whole against the float network."""

from dataclasses import replace

import numpy as np
import pytest
from quantization_accuracy import compare
from reference import operators
from region_outputs import run_region_arguments

from npu_target.build import compile_network
from npu_target.devices.gemmini import GemminiConfig
from npu_target.host import build_host, run_host
from npu_target.models import get_model
from npu_target.models.bert import BERT_BASE, BertConfig, build_bert, seeded_bert
from npu_target.partition import partition
from npu_target.quantize import quantize
from npu_target.tuning.choose import Chooser

CONFIG = GemminiConfig()
SMALL = BertConfig(sequence=20, hidden=24, layers=1, heads=2, intermediate=40)
# Of the hidden states against the float network's, over seeded inputs.
LEAST_SQNR_DB = 20.0


def inputs(config, count, seed=0):
    random = np.random.default_rng(seed)
    return [random.normal(size=config.input_shape).astype("float32") for _ in range(count)]


@pytest.fixture(scope="module")
def small():
    mod = build_bert(SMALL, seeded_bert(SMALL, 0))
    return mod, quantize(mod, inputs(SMALL, 4))


def evaluate(operator, arguments):
    """The region's operator, by the reference."""
    if operator.op == "matmul":
        a, b, *bias = arguments
        return operators.matmul(a, b, bias[0] if bias else None, operator.scale, operator.relu)
    assert operator.op == "add"
    a, b, weights = arguments
    return operators.add(a, b, weights[:, 0, 0], None, operator.scale, operator.relu)


def check_regions(partitioned, x):
    found = run_region_arguments(partitioned, x)
    for region in partitioned.regions:
        arguments, result = found[region.name]
        wanted = evaluate(region.operator, arguments)
        np.testing.assert_array_equal(result, wanted, err_msg=region.name)
        assert len(np.unique(wanted)) > 4, f"{region.name} has too few values to tell anything"


def test_products_are_on_the_device_the_rest_on_the_host(small):
    partitioned = partition(small[1].mod, CONFIG)
    products = [region for region in partitioned.regions if region.op == "matmul"]
    assert len(products) == 8 * SMALL.layers
    heads = [r.operator for r in products if r.operator.batch == SMALL.heads]
    assert {(o.m, o.k, o.n) for o in heads} == {(20, 12, 20), (20, 20, 12)}
    on_host = {d.op for d in partitioned.decisions if d.where == "host"}
    assert {"nn.softmax", "nn.layer_norm", "table"} <= on_host
    assert not on_host & {"matmul", "add"}


def test_every_region_matches(small):
    check_regions(partition(small[1].mod, CONFIG), inputs(SMALL, 1, seed=7)[0])


def test_stays_close_to_float(small):
    assert compare(small[0], small[1].mod, inputs(SMALL, 3, seed=5)).sqnr_db > LEAST_SQNR_DB


@pytest.mark.long
def test_on_the_device(small):
    (x,) = inputs(SMALL, 1, seed=7)
    partitioned = partition(small[1].mod, CONFIG, Chooser(CONFIG, None).device_function)
    (found,) = run_host(compile_network(partitioned.mod), x)
    (wanted,) = run_host(build_host(small[1].mod), x)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.slow
def test_a_layer_of_the_published_size():
    config = replace(BERT_BASE, layers=1)
    quantized = quantize(build_bert(config, seeded_bert(config, 0)), inputs(config, 1))
    partitioned = partition(quantized.mod, CONFIG)
    assert len(partitioned.regions) == 8 + 2
    check_regions(partitioned, inputs(config, 1, seed=7)[0])


@pytest.mark.slow
def test_the_whole_encoder_stays_close_to_float():
    model = get_model("bert_base")
    quantized = quantize(model.mod, model.calibration_inputs(2))
    ((x,),) = model.calibration_inputs(1, seed=3)
    assert compare(model.mod, quantized.mod, [x]).sqnr_db > LEAST_SQNR_DB
