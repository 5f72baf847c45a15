"""Streams of VTA commands that a device has to take: drawn, with the tokens that order them."""

from __future__ import annotations

import dataclasses
import struct

import numpy as np
from hypothesis import strategies as st
from vta_reference import COMPUTE, LOAD, STORE, engine_of

from npu_target.devices.vta import VtaConfig, isa

BASE = 0x1000
DRAM_BYTES = 1 << 16
# Of DRAM: micro-ops, then values that are shifts, then anything, then what is stored.
SHIFTS, ANYTHING, STORED = 1 << 13, 1 << 14, 3 << 14
# Rows that take part. Of the accumulator the first half is written, the last rows hold shifts.
ROWS, WEIGHTS, SUMS, WRITTEN, FIRST_SHIFT = 16, 8, 32, 16, 28


def pack(commands: list[isa.VtaCommand]) -> bytes:
    """As `device_api.run_stream` takes them."""
    return b"".join(struct.pack("<3Q", *command.encode()) for command in commands)


class StreamWriter:
    """Puts tokens between commands: each waits for the one before it, unless told otherwise."""

    def __init__(self) -> None:
        self.commands: list[isa.VtaCommand] = []
        self.last: dict[int, int] = {}  # by engine: where its last command is
        self.running = COMPUTE

    def append(self, command: isa.VtaCommand, waits: bool = True) -> None:
        engine = engine_of(command)
        if waits and engine != self.running:
            command = self._after(self.running, command)
        self.running = engine
        self._put(command)

    def finish(self) -> None:
        """Waits for all engines, whatever did not wait before."""
        self.append(only_tokens(COMPUTE))
        for engine in (LOAD, STORE):
            if engine in self.last:
                self._put(self._after(engine, only_tokens(COMPUTE)))
        self._put(isa.Finish())

    def _after(self, engine: int, command: isa.VtaCommand) -> isa.VtaCommand:
        """The command, made to wait for all that the engine has."""
        if abs(engine_of(command) - engine) == 2:
            self._put(self._after(engine, only_tokens(COMPUTE)))
            engine = COMPUTE
        is_behind = engine_of(command) > engine
        flag = "push_next" if is_behind else "push_prev"
        if engine not in self.last or getattr(self.commands[self.last[engine]], flag):
            self._put(only_tokens(engine))
        at = self.last[engine]
        self.commands[at] = dataclasses.replace(self.commands[at], **{flag: True})
        return dataclasses.replace(command, **{"pop_prev" if is_behind else "pop_next": True})

    def _put(self, command: isa.VtaCommand) -> None:
        self.last[engine_of(command)] = len(self.commands)
        self.commands.append(command)


def only_tokens(engine: int) -> isa.VtaCommand:
    if engine == STORE:
        return isa.Store(memory=isa.OUT)
    return isa.Load(memory=isa.INP if engine == LOAD else isa.UOP)


@dataclasses.dataclass
class Stream:
    commands: list[isa.VtaCommand]
    dram: bytes  # from BASE on


class _Drawing:
    """A stream being drawn; every row that it reads is one that it has written."""

    def __init__(self, draw: st.DrawFn, config: VtaConfig, leaves_out_tokens: bool) -> None:
        self.draw, self.config = draw, config
        self.leaves_out_tokens = leaves_out_tokens
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        self.dram = rng.integers(0, 256, DRAM_BYTES, "uint8")
        self.dram[SHIFTS:ANYTHING].view("int32")[:] = rng.integers(0, 32, (ANYTHING - SHIFTS) // 4)
        self.writer = StreamWriter()
        self.uops_in_dram = 0
        self.results: set[int] = set()  # rows that may be stored
        row_bytes = config.batch * config.block_in
        for memory, rows, size in (
            (isa.INP, ROWS, row_bytes),
            (isa.WGT, WEIGHTS, config.block_out * config.block_in),
            (isa.ACC, SUMS, 4 * config.batch * config.block_out),
        ):
            self.put(self.load(memory, 0, rows, ANYTHING, size))
        shift_rows = SUMS - FIRST_SHIFT
        size = 4 * config.batch * config.block_out
        self.put(self.load(isa.ACC, FIRST_SHIFT, shift_rows, SHIFTS, size))

    def integer(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))

    def put(self, command: isa.VtaCommand) -> None:
        waits = not (self.leaves_out_tokens and self.draw(st.booleans()))
        self.writer.append(command, waits)

    @staticmethod
    def load(memory: int, row: int, rows: int, area: int, row_bytes: int) -> isa.Load:
        first = -(-(BASE + area) // row_bytes)
        return isa.Load(
            memory=memory, sram_base=row, dram_base=first, y_size=1, x_size=rows, x_stride=rows
        )

    def draw_load(self) -> None:
        config = self.config
        memory = self.draw(st.sampled_from([isa.INP, isa.WGT, isa.ACC]))
        rows = {isa.INP: ROWS, isa.WGT: WEIGHTS, isa.ACC: FIRST_SHIFT}[memory]
        most = 2 if memory == isa.WGT else 3
        size = {"y_size": self.integer(1, most), "x_size": self.integer(1, most)}
        if memory != isa.WGT:
            for name in ("y_pad_before", "y_pad_after", "x_pad_before", "x_pad_after"):
                size[name] = self.integer(0, 1)
        row_bytes = {
            isa.INP: config.batch * config.block_in,
            isa.WGT: config.block_out * config.block_in,
            isa.ACC: 4 * config.batch * config.block_out,
        }[memory]
        first = -(-(BASE + ANYTHING) // row_bytes)
        command = isa.Load(
            memory=memory, dram_base=first + self.integer(0, 8), x_stride=self.integer(0, 5), **size
        )
        if command.sram_rows > rows:
            return
        row = self.integer(0, rows - command.sram_rows)
        if memory == isa.ACC:
            self.results -= set(range(row, row + command.sram_rows))
        self.put(dataclasses.replace(command, sram_base=row))

    def load_uops(self, words: list[int]) -> tuple[int, int]:
        """Begin and end of them in the buffer."""
        at = self.uops_in_dram
        self.uops_in_dram += len(words)
        self.dram[4 * at : 4 * self.uops_in_dram].view("uint32")[:] = words
        begin = self.integer(0, 4)
        self.put(self.load(isa.UOP, begin, len(words), 4 * at, 4))
        return begin, begin + len(words)

    def loops(self, words: list[int], most: dict[str, int]) -> dict[str, int]:
        """Loops in which rows stay among as many as `most` says, by what the factors begin with."""
        begin, end = self.load_uops(words)
        loops = {"uop_begin": begin, "uop_end": end}
        loops["iter_out"], loops["iter_in"] = self.integer(1, 3), self.integer(1, 3)
        for name, rows in most.items():
            loops[f"{name}_factor_out"] = self.integer(0, rows // 4)
            loops[f"{name}_factor_in"] = self.integer(0, rows // 8)
        return loops

    def draw_gemm(self) -> None:
        # Two turns of each loop more reach at most rows / 4 * 2 + rows / 8 * 2 further.
        words = [
            isa.micro_op(self.integer(0, 3), self.integer(0, 3), self.integer(0, 1))
            for _ in range(self.integer(1, 4))
        ]
        loops = self.loops(words, {"dst": WRITTEN, "src": ROWS, "wgt": WEIGHTS})
        command = isa.Gemm(**loops, reset=self.integer(0, 5) == 0)
        rows = {dst for dst, _ in steps_of(command, words)}
        self.results = self.results - rows if command.reset else self.results | rows
        self.put(command)

    def draw_alu(self) -> None:
        op = self.draw(st.sampled_from([isa.MIN, isa.MAX, isa.ADD, isa.SHR]))
        use_immediate = self.draw(st.booleans())
        most = isa.MAX_SHIFT if op == isa.SHR else 2**15 - 1
        immediate = self.integer(-most, most) if use_immediate else 0
        least_src = FIRST_SHIFT if op == isa.SHR else WRITTEN
        words = [
            isa.micro_op(dst, self.integer(least_src, SUMS - 1))
            for dst in self.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True))
        ]
        command = isa.Alu(
            **self.loops(words, {"dst": WRITTEN}),
            op=op,
            use_immediate=use_immediate,
            immediate=immediate,
        )
        rows = [dst for dst, _ in steps_of(command, words)]
        between = 2 if use_immediate else 1  # steps in the pipeline
        if any(row in rows[max(0, i - between) : i] for i, row in enumerate(rows)):
            return
        self.results |= set(rows)
        self.put(command)

    def draw_store(self) -> None:
        if not self.results:
            return
        row = self.draw(st.sampled_from(sorted(self.results)))
        runs = [n for n in (1, 2, 4) if set(range(row, row + n)) <= self.results]
        rows = self.draw(st.sampled_from(runs))
        y_size = self.draw(st.sampled_from([n for n in (1, 2) if rows % n == 0]))
        row_bytes = self.config.batch * self.config.block_out
        self.put(
            isa.Store(
                memory=isa.OUT,
                sram_base=row,
                dram_base=-(-(BASE + STORED) // row_bytes) + self.integer(0, 16),
                y_size=y_size,
                x_size=rows // y_size,
                x_stride=self.integer(0, 5),
            )
        )


def steps_of(command: isa.Steps, words: list[int]) -> list[tuple[int, int]]:
    """The rows of the accumulator of each step, and the words' numbers."""
    return [
        ((word & 0x7FF) + y * command.dst_factor_out + x * command.dst_factor_in, i)
        for y in range(command.iter_out)
        for x in range(command.iter_in)
        for i, word in enumerate(words)
    ]


@st.composite
def streams(draw: st.DrawFn, config: VtaConfig, leaves_out_tokens: bool = False) -> Stream:
    """A stream that the device has to take; or one that it may refuse, with tokens left out."""
    drawing = _Drawing(draw, config, leaves_out_tokens)
    for _ in range(drawing.integer(1, 10)):
        draw(
            st.sampled_from(
                [drawing.draw_load, drawing.draw_gemm, drawing.draw_alu, drawing.draw_store]
            )
        )()
    drawing.writer.finish()
    return Stream(drawing.writer.commands, drawing.dram.tobytes())
