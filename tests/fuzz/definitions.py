"""Definitions of products and convolutions for schedules drawn at random: paddings, masks, starts
and outputs that the operators of the package do not have, each with NumPy's answer."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from npu_target.device import preset
from npu_target.devices.gemmini.numbers import NUMBERS
from npu_target.topi.arguments import drop_argument

requantize = NUMBERS.rule.expression

CONFIG = preset("gemmini-8x8")
D = CONFIG.dim
# What the output holds before a run: an element that a definition leaves out keeps it.
UNWRITTEN = 85


@dataclass
class Definition:
    """A function whose block `mac` is to be tensorized, with loops that walk `roles`; the loads
    and the store that it has as blocks. `expected` is its output for `inputs`."""

    func: PrimFunc
    roles: list[str]
    loads: list[str]
    store: str | None
    rows: int  # of a step of the array
    row_step: int
    inputs: list[np.ndarray]
    expected: np.ndarray
    text: str
    # Whether it makes no use of columns that a load leaves as they were: those behind the last one
    # that a mask lets through, to the end of its block.
    is_defined: bool = True
    reductions: set[str] = field(default_factory=set)


def _limit(draw: random.Random, extent: int) -> int:
    """Where a mask ends: mostly nowhere."""
    return extent if draw.random() < 0.7 else draw.randint(1, extent)


def _is_hidden(mask: int, user_mask: int) -> bool:
    """Whether what a mask leaves undefined of a block is left out by those who could use it."""
    return mask % D == 0 or user_mask <= mask


def _blocks(draw: random.Random, extent: int) -> int:
    """Blocks of columns, one more than needed at times."""
    return -(-extent // D) + (draw.random() < 0.15)


def _random(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    limit = 128 if dtype == "int8" else 5000
    return generator.integers(-limit, limit, shape, np.dtype(dtype))


def _stored(total: np.ndarray, wide: bool, scale: float, relu: bool) -> np.ndarray:
    if wide:
        return total.astype(np.int32)
    scaled = np.rint(total.astype(np.int32).astype(np.float32) * np.float32(scale))
    return np.clip(scaled, 0 if relu else -128, 127).astype(np.int8)


def _masked(array: np.ndarray, *limits: int | None) -> np.ndarray:
    """Zeros past the limits of the axes."""
    result = np.zeros_like(array, dtype=np.int64)
    inside = tuple(slice(0, limit) for limit in limits)
    result[inside] = array[inside]
    return result


def product(draw: random.Random) -> Definition:
    """``out[i, j] = sum over t and k of a[t, i, k] * b[t, k, j]``, from 0 or a bias."""
    terms, m, k, n = (draw.randint(*x) for x in ((1, 2), (1, 20), (1, 40), (1, 36)))
    rows = draw.randint(1, D)
    MP, KB, JB = -(-m // rows) * rows, _blocks(draw, k), _blocks(draw, n)
    AK, BK, NB, NS = _limit(draw, k), _limit(draw, k), _limit(draw, n), _limit(draw, n)
    if draw.random() < 0.6:
        BK = AK  # as weights are padded
    if draw.random() < 0.6:
        NS = min(NS, NB)
    bias, wide = draw.random() < 0.4, draw.random() < 0.4
    scale, relu = draw.choice([0.25, 0.01, 1.0]), draw.random() < 0.3
    out_type = "int32" if wide else "int8"

    def initial(bias_arg: Any, j: Any) -> Any:
        return T.if_then_else(j < NB, bias_arg[j], 0) if bias else T.int32(0)

    def result(value: Any) -> Any:
        return value if wide else requantize(value, scale, relu)

    @T.prim_func(s_tir=True)
    def func(
        a: T.Buffer((terms, m, k), "int8"),
        b: T.Buffer((terms, k, n), "int8"),
        bias_arg: T.Buffer((n,), "int32"),
        out: T.Buffer((m, n), out_type),
    ):
        T.func_attr({"tirx.noalias": True})
        with T.sblock("root"):
            at = T.sblock_alloc_buffer((terms, KB, MP, D), "int8")
            bt = T.sblock_alloc_buffer((terms, KB, JB, D, D), "int8")
            acc = T.sblock_alloc_buffer((1, JB, MP, D), "int32")
            for t, kb, i, kk in T.grid(terms, KB, MP, D):
                with T.sblock("load_a"):
                    vt, vkb, vi, vk = T.axis.remap("SSSS", [t, kb, i, kk])
                    at[vt, vkb, vi, vk] = T.if_then_else(
                        vi < m and vkb * D + vk < AK, a[vt, vi, vkb * D + vk], T.int8(0)
                    )
            for t, kb, jb, kk, j in T.grid(terms, KB, JB, D, D):
                with T.sblock("load_b"):
                    vt, vkb, vjb, vk, vj = T.axis.remap("SSSSS", [t, kb, jb, kk, j])
                    bt[vt, vkb, vjb, vk, vj] = T.if_then_else(
                        vkb * D + vk < BK and vjb * D + vj < NB,
                        b[vt, vkb * D + vk, vjb * D + vj],
                        T.int8(0),
                    )
            for jb, i, j, t, kb, kk in T.grid(JB, MP, D, terms, KB, D):
                with T.sblock("mac"):
                    vjb, vi, vj, vt, vkb, vk = T.axis.remap("SSSRRR", [jb, i, j, t, kb, kk])
                    T.reads(at[vt, vkb, vi, vk], bt[vt, vkb, vjb, vk, vj])
                    T.writes(acc[0, vjb, vi, vj])
                    with T.init():
                        acc[0, vjb, vi, vj] = initial(bias_arg, vjb * D + vj)
                    acc[0, vjb, vi, vj] += T.cast(at[vt, vkb, vi, vk], "int32") * T.cast(
                        bt[vt, vkb, vjb, vk, vj], "int32"
                    )
            for jb, i, j in T.grid(JB, MP, D):
                with T.sblock("store"):
                    vjb, vi, vj = T.axis.remap("SSS", [jb, i, j])
                    T.reads(acc[0, vjb, vi, vj])
                    T.writes(out[vi, vjb * D + vj])
                    if vi < m and vjb * D + vj < NS:
                        out[vi, vjb * D + vj] = result(acc[0, vjb, vi, vj])

    generator = np.random.default_rng(draw.randrange(1 << 30))
    a = _random(generator, (terms, m, k), "int8")
    b = _random(generator, (terms, k, n), "int8")
    start = _random(generator, (n,), "int32")
    total = (_masked(a, None, None, AK) @ _masked(b, None, BK, NB)).sum(0)
    if bias:
        total = total + _masked(start, NB)
    expected = np.full((m, n), UNWRITTEN, out_type)
    expected[:, :NS] = _stored(total, wide, scale, relu)[:, :NS]
    return Definition(
        func if bias else drop_argument(func, "bias_arg"),
        ["blocks", "pixels", "lane", "terms", "depth", "depth_lane"],
        ["load_a", "load_b"],
        "store",
        rows,
        1,
        [a, b, start] if bias else [a, b],
        expected,
        f"product {terms}x{m}x{k}x{n} rows {rows} blocks {KB} {JB} masks {AK} {BK} {NB} {NS}",
        _is_hidden(AK, BK) and _is_hidden(NB, NS),
        {"terms", "depth", "depth_lane"},
    )


def convolution(draw: random.Random) -> Definition:
    """A convolution of an image `[h, w, c]`, padded, with strides."""
    c, co = draw.randint(1, 20), draw.randint(1, 20)
    kh, kw, s, pad = (draw.randint(*x) for x in ((1, 3), (1, 3), (1, 2), (0, 1)))
    h, w = draw.randint(kh, 9), draw.randint(kw, 12)
    OH, OW = (h + 2 * pad - kh) // s + 1, (w + 2 * pad - kw) // s + 1
    rows = min(draw.randint(2, D), OW)
    XP = -(-OW // rows) * rows
    HP, WP = (OH - 1) * s + kh, (XP - 1) * s + kw
    CB, OB = _blocks(draw, c), _blocks(draw, co)
    AC = _limit(draw, c)
    BC = AC if draw.random() < 0.7 else _limit(draw, c)
    CS = _limit(draw, co)
    bias, scale = draw.random() < 0.4, draw.choice([0.25, 0.01])

    def initial(bias_arg: Any, o: Any) -> Any:
        return T.if_then_else(o < co, bias_arg[o], 0) if bias else T.int32(0)

    @T.prim_func(s_tir=True)
    def func(
        x: T.Buffer((h, w, c), "int8"),
        weight: T.Buffer((kh, kw, c, co), "int8"),
        bias_arg: T.Buffer((co,), "int32"),
        out: T.Buffer((OH, OW, co), "int8"),
    ):
        T.func_attr({"tirx.noalias": True})
        with T.sblock("root"):
            at = T.sblock_alloc_buffer((CB, HP, WP, D), "int8")
            bt = T.sblock_alloc_buffer((kh, kw, CB, OB, D, D), "int8")
            acc = T.sblock_alloc_buffer((1, OB, OH, XP, D), "int32")
            for cb, y, xx, cc in T.grid(CB, HP, WP, D):
                with T.sblock("load_a"):
                    vcb, vh, vw, vc = T.axis.remap("SSSS", [cb, y, xx, cc])
                    at[vcb, vh, vw, vc] = T.if_then_else(
                        vh >= pad
                        and vh < h + pad
                        and vw >= pad
                        and vw < w + pad
                        and vcb * D + vc < AC,
                        x[vh - pad, vw - pad, vcb * D + vc],
                        T.int8(0),
                    )
            for i, j, cb, ob, cc, o in T.grid(kh, kw, CB, OB, D, D):
                with T.sblock("load_b"):
                    vi, vj, vcb, vob, vc, vo = T.axis.remap("SSSSSS", [i, j, cb, ob, cc, o])
                    bt[vi, vj, vcb, vob, vc, vo] = T.if_then_else(
                        vcb * D + vc < BC and vob * D + vo < co,
                        weight[vi, vj, vcb * D + vc, vob * D + vo],
                        T.int8(0),
                    )
            for ob, y, xx, o, i, j, cb, cc in T.grid(OB, OH, XP, D, kh, kw, CB, D):
                with T.sblock("mac"):
                    vob, vy, vx, vo, vi, vj, vcb, vc = T.axis.remap(
                        "SSSSRRRR", [ob, y, xx, o, i, j, cb, cc]
                    )
                    T.reads(at[vcb, vy * s + vi, vx * s + vj, vc], bt[vi, vj, vcb, vob, vc, vo])
                    T.writes(acc[0, vob, vy, vx, vo])
                    with T.init():
                        acc[0, vob, vy, vx, vo] = initial(bias_arg, vob * D + vo)
                    acc[0, vob, vy, vx, vo] += T.cast(
                        at[vcb, vy * s + vi, vx * s + vj, vc], "int32"
                    ) * T.cast(bt[vi, vj, vcb, vob, vc, vo], "int32")
            for ob, y, xx, o in T.grid(OB, OH, XP, D):
                with T.sblock("store"):
                    vob, vy, vx, vo = T.axis.remap("SSSS", [ob, y, xx, o])
                    T.reads(acc[0, vob, vy, vx, vo])
                    T.writes(out[vy, vx, vob * D + vo])
                    if vx < OW and vob * D + vo < CS:
                        out[vy, vx, vob * D + vo] = requantize(acc[0, vob, vy, vx, vo], scale)

    generator = np.random.default_rng(draw.randrange(1 << 30))
    image = _random(generator, (h, w, c), "int8")
    weight = _random(generator, (kh, kw, c, co), "int8")
    start = _random(generator, (co,), "int32")
    padded = np.pad(_masked(image, None, None, AC), ((pad, pad), (pad, pad), (0, 0)))
    weights = _masked(weight, None, None, BC)
    total = np.zeros((OH, OW, co), np.int64) + (start if bias else 0)
    for i in range(kh):
        for j in range(kw):
            window = padded[i : i + (OH - 1) * s + 1 : s, j : j + (OW - 1) * s + 1 : s]
            total = total + window @ weights[i, j]
    expected = np.full((OH, OW, co), UNWRITTEN, np.int8)
    expected[..., :CS] = _stored(total, False, scale, False)[..., :CS]
    return Definition(
        func if bias else drop_argument(func, "bias_arg"),
        ["blocks", "lines", "pixels", "lane", "kernel_h", "kernel_w", "depth", "depth_lane"],
        ["load_a", "load_b"],
        "store",
        rows,
        s,
        [image, weight, start] if bias else [image, weight],
        expected,
        f"conv {h}x{w}x{c}_{co} k{kh}x{kw} s{s} p{pad} rows {rows} blocks {CB} {OB} "
        f"masks {AC} {BC} {CS}",
        _is_hidden(AC, BC),
        {"kernel_h", "kernel_w", "depth", "depth_lane"},
    )


def blocked(draw: random.Random) -> Definition:
    """A product of arguments that are in blocks already: its tiles are cached by the schedule."""
    KB, JB, rows, steps = (draw.randint(*x) for x in ((1, 4), (1, 4), (1, D), (1, 4)))
    MP = rows * steps

    @T.prim_func(s_tir=True)
    def func(
        a: T.Buffer((KB, MP, D), "int8"),
        b: T.Buffer((KB, JB, D, D), "int8"),
        out: T.Buffer((JB, MP, D), "int32"),
    ):
        T.func_attr({"tirx.noalias": True})
        with T.sblock("root"):
            for jb, i, j, kb, kk in T.grid(JB, MP, D, KB, D):
                with T.sblock("mac"):
                    vjb, vi, vj, vkb, vk = T.axis.remap("SSSRR", [jb, i, j, kb, kk])
                    T.reads(a[vkb, vi, vk], b[vkb, vjb, vk, vj])
                    T.writes(out[vjb, vi, vj])
                    with T.init():
                        out[vjb, vi, vj] = 0
                    out[vjb, vi, vj] += T.cast(a[vkb, vi, vk], "int32") * T.cast(
                        b[vkb, vjb, vk, vj], "int32"
                    )

    generator = np.random.default_rng(draw.randrange(1 << 30))
    a = _random(generator, (KB, MP, D), "int8")
    b = _random(generator, (KB, JB, D, D), "int8")
    expected = np.einsum("kir,kjrc->jic", a.astype(np.int64), b.astype(np.int64)).astype(np.int32)
    return Definition(
        func,
        ["blocks", "pixels", "lane", "depth", "depth_lane"],
        [],
        None,
        rows,
        1,
        [a, b],
        expected,
        f"blocked {KB}x{JB} rows {rows} steps {steps}",
        True,
        {"depth", "depth_lane"},
    )


KINDS = (product, product, convolution, convolution, blocked)
