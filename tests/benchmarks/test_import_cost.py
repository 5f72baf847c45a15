"""The benchmark of reading large files, on small ones."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.import_cost import ImportCost, markdown, measure
from benchmarks.large_files import CHANNELS, KINDS, WEIGHTS
from npu_target.frontend import load
from npu_target.relax_graph import Graph, constant_of, op_name

_NEEDS = {"ONNX": "onnx", "TFLite": "tflite", "PyTorch": "torch"}


def written(kind: str, folder: Path, layers: int) -> Path:
    """A file, where there is what writes it."""
    pytest.importorskip(_NEEDS[kind.partition(",")[0]])
    write, suffix, _ = KINDS[kind]
    path = folder / f"large.{suffix}"
    write(path, layers)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_of_the_size_asked_for_and_has_its_layers(kind: str, tmp_path: Path) -> None:
    path = written(kind, tmp_path, 2)
    weights = 2 * WEIGHTS * KINDS[kind][2]
    assert weights <= path.stat().st_size < 1.02 * weights + 50_000
    network = load(path)
    assert network.integer == ("float" not in kind)
    graph = Graph(network.mod)
    products = [v for v in graph.value.values() if op_name(v) == "relax.nn.conv2d"]
    kernels = [constant_of(graph.producer(product.args[1])) for product in products]
    assert [kernel.shape for kernel in kernels] == [(3, 3, CHANNELS, CHANNELS)] * 2
    assert {str(kernel.dtype) for kernel in kernels} == {"int8" if network.integer else "float32"}
    assert not np.array_equal(*kernels)


def test_what_is_measured(tmp_path: Path) -> None:
    path = written("TFLite, int8", tmp_path, 1)
    cost = measure("TFLite, int8", path)
    assert cost.is_integer and cost.file_bytes == path.stat().st_size
    assert cost.seconds > 0
    # The file was in memory.
    assert cost.peak_bytes > cost.bytes_before + cost.file_bytes


def test_the_report_says_what_is_missed() -> None:
    costs = [
        ImportCost("a", 100_000_000, False, 31.0, 1_900_000_000, 400_000_000),
        ImportCost("b", 100_000_000, True, 3.0, 900_000_000, 400_000_000),
    ]
    text = markdown(costs, "a machine")
    assert "| b | 100 | integers | 3.0 | 900 | 400 |" in text
    assert "| seconds | 30 | 31.0 | missed |" in text
    assert "| memory, MB | 2,000 | 1,900 | met |" in text
