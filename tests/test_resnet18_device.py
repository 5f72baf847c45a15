"""ResNet-18 on the device, against NumPy: the whole network and every layer of it, with default
schedules, with those of the committed logs, with random ones, and through an RPC server."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kernel_runs import check_schedule
from reference import integer_resnet
from served import server_of
from shared_models import shared_model
from tvm import relax, rpc, runtime
from tvm.s_tir import Schedule
from tvm.s_tir.schedule import Trace

from npu_target.build import compile_network, write_built
from npu_target.built_file import Built
from npu_target.codegen_tir import DoesNotFit
from npu_target.device import preset
from npu_target.host import run_host
from npu_target.inputs import read_inputs
from npu_target.relax_graph import Graph, copy_binding, rebuild, replace_function
from npu_target.schedule_rules import default_schedule, space_generator
from npu_target.tuning.choose import Chooser
from npu_target.tuning.header import Header
from npu_target.tuning.log import TuningLog, read_log
from npu_target.tuning.models import inputs_of
from npu_target.tuning.network import Network, load_network
from npu_target.tuning.schedules import tuned_schedule
from rpc_server.local import LocalServers
from rpc_server.tracker_client import TrackerClient, device_key

pytestmark = pytest.mark.slow

CONFIG = preset("gemmini-16x16")
LOGS = Path(__file__).parents[1] / "tuning_logs" / CONFIG.name / "resnet18"
RANDOM_SCHEDULES = 50
# Of the schedules drawn, this share at least fits the memories.
_MOST_DRAWS = 10 * RANDOM_SCHEDULES
LAYERS = 20


@pytest.fixture(scope="module")
def network() -> Network:
    return load_network("resnet18", CONFIG)


@pytest.fixture(scope="module")
def photo(network) -> np.ndarray:
    return read_inputs(shared_model("cat.bmp"), inputs_of(network.model))[0][0]


@pytest.fixture(scope="module")
def wanted(network, photo) -> dict[str, np.ndarray]:
    """Every layer's output for the photo, and the logits, by the reference in NumPy."""
    return integer_resnet.run(photo, network.quantized.parameters)


def committed_log() -> TuningLog:
    return read_log(LOGS, Header.of(CONFIG, "resnet18", ""))


def compiled(
    network: Network, log: TuningLog | None, outputs_of_regions: bool
) -> relax.VMExecutable:
    partitioned = network.with_kernels(Chooser(CONFIG, log).device_function)
    mod = partitioned.mod
    if outputs_of_regions:
        graph = Graph(mod)
        by_name = {var.name: var for var in graph.order}
        results = [by_name[f"{region.name}_out"] for region in partitioned.regions]
        graph.output = relax.Tuple([*results, graph.output])
        rebuilt = rebuild(
            graph, lambda builder, var, values: copy_binding(builder, var, values, graph)
        )
        mod = replace_function(mod, "main", rebuilt)
    return compile_network(mod)


@pytest.mark.parametrize("schedules", ["default", "tuned"])
def test_every_layer_of_a_photo_equals_numpy(network, photo, wanted, schedules):
    log = committed_log() if schedules == "tuned" else None
    (*found, logits) = run_host(compiled(network, log, outputs_of_regions=True), photo)
    assert len(found) == len(network.partitioned.regions) == 31
    for region, result in zip(network.partitioned.regions, found, strict=True):
        layer = wanted[region.name]
        np.testing.assert_array_equal(result.reshape(layer.shape), layer, err_msg=region.name)
    np.testing.assert_array_equal(logits, wanted["logits"])


@pytest.mark.rpc
def test_the_exported_network_equals_numpy_on_a_server(network, photo, wanted, tmp_path):
    executable = compiled(network, None, outputs_of_regions=False)
    write_built(executable, tmp_path / "network.so", Built("resnet18", CONFIG.name, ()))
    with LocalServers(CONFIG, 1, tmp_path) as servers, TrackerClient(servers.tracker) as client:
        endpoint = server_of(client, device_key(CONFIG))
        session = rpc.connect(endpoint.host, endpoint.port, endpoint.matchkey)
        session.upload(str(tmp_path / "network.so"))
        device = session.cpu(0)
        machine = relax.VirtualMachine(session.load_module("network.so"), device)
        machine.set_input("main", runtime.tensor(photo, device))
        machine.invoke_stateful("main")
        np.testing.assert_array_equal(machine.get_outputs("main").numpy(), wanted["logits"])


@pytest.mark.parametrize("index", range(LAYERS))
def test_every_layers_schedules_equal_numpy(network, index):
    """The default one, the one in the logs, and random ones of the space."""
    assert len(network.layers) == LAYERS
    operator = network.layers[index].operator
    check_schedule(operator, default_schedule(operator, CONFIG), CONFIG)
    tuned = tuned_schedule(operator, CONFIG, committed_log())
    assert tuned is not None
    check_schedule(operator, tuned, CONFIG)
    func = operator.prim_func(CONFIG).with_attr("global_symbol", "main")
    mod = Schedule(func).mod
    spaces = space_generator(operator, CONFIG, "both").generate_design_space(mod)
    random = np.random.default_rng(index)
    checked = 0
    for seed in range(1, _MOST_DRAWS):
        space = spaces[random.integers(len(spaces))]
        schedule = Schedule(mod, seed=int(random.integers(1, 2**31 - 1)))
        # Without decisions: all of them are drawn anew.
        Trace(space.trace.insts, {}).apply_to_schedule(schedule, remove_postproc=True)
        try:
            check_schedule(operator, schedule, CONFIG, seed)
        except DoesNotFit:
            continue
        checked += 1
        if checked == RANDOM_SCHEDULES:
            return
    raise AssertionError(f"only {checked} of {_MOST_DRAWS} random schedules fit")
