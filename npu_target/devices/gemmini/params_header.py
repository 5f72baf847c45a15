"""Devices from the header that the Gemmini generator writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...device import ConfigError
from ...files import Pathish
from .c_header import CHeader, CHeaderError
from .config import GemminiConfig
from .presets import PRESETS


def read(path: Pathish, name: str | None, unstated: Mapping[str, Any]) -> GemminiConfig:
    """See `GemminiConfig.from_gemmini_params_h`."""
    try:
        header = CHeader.parse(Path(path).read_text(encoding="utf-8"))
        fields = _fields_of_header(header)
    except (CHeaderError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from error
    GemminiConfig.check_keys(unstated, f"{path}")
    stated = sorted(fields.keys() & unstated.keys())
    if stated:
        raise ConfigError(f"{path}: the header itself states {', '.join(stated)}")
    acc_rows = fields.pop("acc_rows")
    fields.update(unstated)
    acc_banks = fields.setdefault("acc_banks", GemminiConfig.acc_banks)
    if acc_banks < 1 or acc_rows % acc_banks:
        raise ConfigError(
            f"{path}: ACC_ROWS {acc_rows} is not a multiple of acc_banks {acc_banks}; "
            "pass the device's acc_banks"
        )
    config = GemminiConfig(
        **{"name": name or "unnamed", "acc_bank_rows": acc_rows // acc_banks, **fields}
    )
    if name is not None:
        return config
    for preset in PRESETS:
        if preset.hash == config.hash:
            return preset
    return config.replace(name=f"gemmini-{config.dim}x{config.dim}-{config.hash[:8]}")


def _fields_of_header(header: CHeader) -> dict[str, Any]:
    """The fields a gemmini_params.h states, and `acc_rows`."""
    for name, wanted in (("elem_t", "int8_t"), ("acc_t", "int32_t"), ("acc_scale_t", "float")):
        if header.typedef(name) != wanted:
            raise CHeaderError(
                f"{name} is {header.typedef(name)}, only devices with {wanted} are supported"
            )
    if header.defines("HAS_MVIN_SCALE") and header.typedef("scale_t") != "float":
        raise CHeaderError(
            f"scale_t is {header.typedef('scale_t')}, only devices with float are supported"
        )
    if header.defines("HAS_MVIN_ACC_SCALE"):
        raise CHeaderError("HAS_MVIN_ACC_SCALE: scaled int32 loads are not supported")
    if not header.defines("ACC_READ_SMALL_WIDTH"):
        raise CHeaderError("no ACC_READ_SMALL_WIDTH: a device that cannot store int8 results")
    return {
        "dim": header.integer("DIM"),
        "spad_banks": header.integer("BANK_NUM"),
        "spad_bank_rows": header.integer("BANK_ROWS"),
        "acc_rows": header.integer("ACC_ROWS"),
        "dma_request_bytes": header.integer("MAX_BYTES"),
        "has_mvin_scale": header.defines("HAS_MVIN_SCALE"),
        "has_first_layer_pixel_repeats": header.defines("HAS_FIRST_LAYER_OPTIMIZATIONS"),
        "has_acc_full_width_store": header.defines("ACC_READ_FULL_WIDTH"),
    }
