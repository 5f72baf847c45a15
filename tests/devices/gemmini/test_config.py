"""Device descriptions: presets, files, headers and what is refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.device import ConfigError, find, load, preset
from npu_target.devices.gemmini import PRESETS, GemminiConfig

CONFIG = GemminiConfig()
NUMBERS = list(CONFIG.numbers())
HEADER = """
#define XCUSTOM_ACC 3
#define DIM 16
#define BANK_NUM 4
#define BANK_ROWS (64*64)
#define ACC_ROWS 1024
#define MAX_BYTES 64
#define MAX_BLOCK_LEN (MAX_BYTES/(DIM*1))
typedef int8_t elem_t;
typedef int32_t acc_t;
#define HAS_MVIN_SCALE
typedef float scale_t;
typedef float acc_scale_t;
#define ACC_READ_SMALL_WIDTH
#define ACC_READ_FULL_WIDTH
#define HAS_FIRST_LAYER_OPTIMIZATIONS
"""


@pytest.mark.parametrize("config", PRESETS, ids=lambda config: config.name)
def test_presets_hold_the_same_bytes(config: GemminiConfig) -> None:
    assert config.spad_rows * config.spad_row_bytes == 256 * 1024
    assert config.acc_rows * config.acc_row_bytes == 64 * 1024
    assert config.name == f"gemmini-{config.dim}x{config.dim}"
    assert preset(config.name) is config


@pytest.mark.parametrize(("dim", "cols", "cols_acc"), [(8, 64, 16), (16, 64, 16), (32, 64, 32)])
def test_most_columns_of_a_load(dim: int, cols: int, cols_acc: int) -> None:
    config = preset(f"gemmini-{dim}x{dim}")
    assert (config.mvin_max_cols, config.mvin_max_cols_acc) == (cols, cols_acc)
    assert (config.mvout_max_cols, config.mvout_max_cols_acc) == (cols, cols_acc)


def test_names_of_devices(tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    CONFIG.replace(name="mine", dim=8).save(path)
    assert find("gemmini-8x8").name == "gemmini-8x8"
    assert find(str(path)).name == "mine"
    with pytest.raises(ConfigError, match="no device preset is called 'npu'; there are: gemmini"):
        preset("npu")
    with pytest.raises(ConfigError, match="no device is called 'npu', and there is no such file"):
        find("npu")


@given(st.sampled_from(NUMBERS))
def test_hash_sees_every_number_and_not_the_name(field: str) -> None:
    value = getattr(CONFIG, field)
    # Twice as much, which is as good for sizes; more where that is nothing or too much.
    other = value + 1 if field == "array_output_bits" or value == 0 else value * 2
    changed = CONFIG.replace(**{field: not value if isinstance(value, bool) else other})
    assert changed.hash != CONFIG.hash
    assert CONFIG.replace(name="other").hash == CONFIG.hash
    assert len(CONFIG.hash) == 16
    int(CONFIG.hash, 16)


def test_save_and_load(tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    config = CONFIG.replace(name="mine", dim=8, has_pooling=False)
    config.save(path)
    assert load(path) == config
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a device description in JSON"),
        ("9" * 5_000, "not a device description in JSON"),
        ("[]", "needs one JSON object, has a list"),
        ("{}", "needs the 'kind' of the device"),
        ('{"kind": "tpu"}', "no kind of device is called 'tpu'; installed are: gemmini"),
        ('{"kind": "gemmini"}', "missing name, clock_khz, host_cycles_per_command"),
        (
            json.dumps({"kind": "gemmini", **dataclasses.asdict(CONFIG), "dims": 8}),
            "kind gemmini has no field 'dims'",
        ),
        (
            json.dumps({"kind": "gemmini", **dataclasses.asdict(CONFIG), "dim": 8.0}),
            "dim is 8.0, must be of type int",
        ),
    ],
)
def test_files_that_are_no_device(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "device.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dim": 12}, "dim is 12, must be a power of two"),
        ({"dim": 1}, "dim is 1, must be between 2 and 256"),
        ({"dim": True}, "dim is True, must be of type int"),
        ({"has_pooling": 1}, "has_pooling is 1, must be of type bool"),
        ({"clock_khz": 0}, "clock_khz is 0, must be between 1 and 2147483647"),
        ({"clock_khz": 2**31}, "clock_khz is 2147483648, must be between 1"),
        ({"spad_bank_rows": 3000}, "spad_bank_rows is 3000, must be a power of two"),
        ({"acc_bank_rows": 8}, r"acc_bank_rows is 8, must be a multiple of dim \(16\)"),
        ({"spad_bank_rows": 2**24}, r"spad_bank_rows is 67108864, must be at most 33554432, what"),
        ({"dma_request_bytes": 8}, r"dma_request_bytes is 8, must be at least bus_bytes \(16\)"),
        ({"dim": 512}, "dim is 512, must be between 2 and 256"),
        ({"loads_in_flight": 2**30}, "loads_in_flight is 1073741824, must be between 1 and 64"),
        (
            {"dim": 256, "spad_bank_rows": 2**20},
            r"spad_bank_rows \* dim is 1073741824, must be at most 268435456",
        ),
        (
            {"l2_bytes": 2**30, "l2_line_bytes": 16},
            r"at most l2_line_bytes \* 4194304 \(67108864\), in lines of",
        ),
        (
            {"l2_bytes": 1000},
            r"l2_bytes is 1000, must be a multiple of l2_ways \* l2_line_bytes \(512\)",
        ),
        (
            {"has_weight_stationary": False, "has_output_stationary": False},
            "has_output_stationary is 0, must be at least 1",
        ),
        ({"name": ""}, "name is '', must be 1 to 100 of the characters"),
        ({"name": 16}, "name is 16, must be 1 to 100"),
        ({"name": "../../evil"}, "GemminiConfig.name is '../../evil', must be"),
        ({"dims": 8}, "kind gemmini has no field 'dims'"),
    ],
)
def test_devices_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CONFIG.replace(**changes)


def test_latencies_may_be_zero() -> None:
    assert CONFIG.replace(l2_hit_latency_cycles=0, host_cycles_per_command=0)
    with pytest.raises(ConfigError, match="l2_hit_latency_cycles is -1, must be between 0"):
        CONFIG.replace(l2_hit_latency_cycles=-1)


def header_file(tmp_path: Path, *replacements: tuple[str, str]) -> Path:
    text = HEADER
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "gemmini_params.h"
    path.write_text(text)
    return path


def test_a_header_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.h cannot be read: No such file"):
        GemminiConfig.from_gemmini_params_h(tmp_path / "none.h")


def test_header_of_the_default_device_is_the_preset(tmp_path: Path) -> None:
    assert GemminiConfig.from_gemmini_params_h(header_file(tmp_path)) == CONFIG


def test_header_of_another_device(tmp_path: Path) -> None:
    path = header_file(
        tmp_path,
        ("#define DIM 16", "#define DIM 4"),
        ("#define BANK_NUM 4", "#define BANK_NUM 2"),
        ("#define ACC_ROWS 1024", "#define ACC_ROWS 256"),
        ("#define HAS_FIRST_LAYER_OPTIMIZATIONS", ""),
        ("#define ACC_READ_FULL_WIDTH", ""),
        ("#define HAS_MVIN_SCALE\ntypedef float scale_t;", "typedef int32_t scale_t;"),
    )
    config = GemminiConfig.from_gemmini_params_h(path, name="tiny", acc_banks=1, has_pooling=False)
    assert config == CONFIG.replace(
        name="tiny",
        dim=4,
        spad_banks=2,
        acc_banks=1,
        acc_bank_rows=256,
        has_mvin_scale=False,
        has_first_layer_pixel_repeats=False,
        has_acc_full_width_store=False,
        has_pooling=False,
    )
    unnamed = GemminiConfig.from_gemmini_params_h(path, acc_banks=1, has_pooling=False)
    assert unnamed.name == f"gemmini-4x4-{config.hash[:8]}"


@pytest.mark.parametrize(
    ("old", "new", "unstated", "message"),
    [
        ("#define DIM 16", "", {}, "no `#define DIM`"),
        ("#define DIM 16", "#define DIM 12", {}, "dim is 12, must be a power of two"),
        ("typedef int8_t elem_t", "typedef float elem_t", {}, "elem_t is float, only .* int8_t"),
        ("typedef int32_t acc_t", "typedef float acc_t", {}, "acc_t is float, only .* int32_t"),
        ("typedef float scale_t", "typedef double scale_t", {}, "scale_t is double, only .* float"),
        (
            "#define HAS_MVIN_SCALE",
            "#define HAS_MVIN_SCALE\n#define HAS_MVIN_ACC_SCALE",
            {},
            "int32",
        ),
        ("#define ACC_READ_SMALL_WIDTH", "", {}, "cannot store int8"),
        ("", "", {"acc_banks": 3}, "ACC_ROWS 1024 is not a multiple of acc_banks 3; pass"),
        ("", "", {"dim": 8}, "the header itself states dim"),
        ("", "", {"dims": 8}, "kind gemmini has no field 'dims'"),
    ],
)
def test_headers_that_cannot_be_used(
    tmp_path: Path, old: str, new: str, unstated: dict[str, Any], message: str
) -> None:
    path = header_file(tmp_path, (old, new)) if old else header_file(tmp_path)
    with pytest.raises(ConfigError, match=message):
        GemminiConfig.from_gemmini_params_h(path, **unstated)


def test_ideal_memory_changes_only_the_memory() -> None:
    ideal = CONFIG.with_ideal_memory()
    changed = {name for name, value in CONFIG.numbers().items() if getattr(ideal, name) != value}
    assert changed == {
        "memory_latency_cycles",
        "memory_write_pause_cycles",
        "dram_banks",
        "host_icache_miss_cycles",
    }
    assert ideal.dram_banks == 0
    assert ideal.memory_bytes_per_kilocycle == 8_000
    assert ideal.hash != CONFIG.hash


def test_the_cycle_model_bounds_queues_and_banks() -> None:
    assert CONFIG.replace(ex_queue_entries=52)
    with pytest.raises(ConfigError, match=r"ex_queue_entries .* is 65, must be at most 64"):
        CONFIG.replace(ex_queue_entries=53)
    assert CONFIG.replace(spad_banks=64)
    with pytest.raises(ConfigError, match="spad_banks is 128, must be between 1 and 64"):
        CONFIG.replace(spad_banks=128)
