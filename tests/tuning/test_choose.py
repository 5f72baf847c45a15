"""What a build takes of logs and defaults."""

from __future__ import annotations

import pytest
from tuning.test_routes import CONFIG, HEADER, LAYERS, PRODUCT, route_cycles, route_trace
from tuning.test_tuner import CYCLE

from npu_target.device_api import HostCost
from npu_target.schedule_rules import host_bounds
from npu_target.tuning.candidate import RecordForm
from npu_target.tuning.choose import Chooser
from npu_target.tuning.dump import as_built
from npu_target.tuning.log import open_log
from npu_target.tuning.report import TUNED, LayerResult
from npu_target.tuning.workload import workload_module

# The logs' schedule of the product takes fewer cycles than its default.
PRODUCT_LAYER = LAYERS[0]


@pytest.fixture
def log(tmp_path):
    mod = workload_module(PRODUCT, CONFIG)
    with open_log(tmp_path, HEADER) as log:
        record = RecordForm.of(mod, CONFIG).record(route_trace(), route_cycles() * CYCLE)
        log.add_json(mod, record, {"task": PRODUCT.name, "program": "", "cycles": route_cycles()})
        yield log


@pytest.fixture
def default_cycles() -> int:
    (result,) = Chooser(CONFIG, None).results([PRODUCT_LAYER])
    assert route_cycles() < result.cycles
    return result.cycles


@pytest.mark.parametrize("keeps_bounds", [True, False])
@pytest.mark.parametrize("is_worth", [True, False])
def test_the_default_goes_before_what_is_hardly_faster_and_over_a_bound(
    log, default_cycles, keeps_bounds, is_worth, monkeypatch
):
    """Of the search's results as of a build's."""

    def missed(cost: HostCost, cycles: int) -> int:
        return 0 if keeps_bounds or cycles == default_cycles else 1

    monkeypatch.setattr(host_bounds, "missed_host_bounds", missed)
    longer = default_cycles / route_cycles() - 1
    monkeypatch.setattr(host_bounds, "_WORTH", longer * (1.01 if is_worth else 0.99))
    (built,) = Chooser(CONFIG, log).results([PRODUCT_LAYER])
    takes_default = is_worth and not keeps_bounds
    wanted = ("default", default_cycles) if takes_default else ("tuned", route_cycles())
    assert (built.source, built.cycles) == wanted
    searched = LayerResult(PRODUCT_LAYER, default_cycles, route_cycles(), TUNED, is_new=True)
    (result,) = as_built([searched], CONFIG, log)
    assert (result.source, result.cycles) == wanted
    assert result.is_new is not takes_default
