"""About how many instructions the host executes for a program: the rules of `sim/host_code.cc`,
with conditions met as often as they look to be, and rough numbers for what is made once."""

from __future__ import annotations

from collections.abc import Iterator

from ..device.command_set import CommandSet
from ..device.commands import WORD_MASK
from ..program import BOOLEAN_OPS, Address, Command, Expr, Loop, Node, Op
from ..program.expr import ZERO

INSTRUCTION_BYTES = 4
# What may be added without a register for it.
_ADDED = range(-(1 << 11), 1 << 11)
# To make a constant, with what a store of it takes, and to begin a running operand, about.
_CONSTANT, _STORED_CONSTANT, _BEGIN = 2, 3, 1.5
# A word of a table: a shift, an addition, a load.
_OF_TABLE = 3

# Operands that differ by a constant: an address, steps, terms.
_Family = tuple[Address | None, tuple[tuple[int, int], ...], tuple[tuple[int, Expr], ...]]


class _Values:
    """The numbers that the operands of a family begin with, in their order."""

    __slots__ = ("bases", "comes_back", "command")

    def __init__(self) -> None:
        self.bases: list[int] = []
        self.comes_back = False  # one register cannot go from one to the next
        self.command: Command | None = None  # that used one last

    def use(self, base: int, command: Command) -> None:
        """Add a number that a command uses."""
        bases = self.bases
        if base not in bases:
            if command is self.command:
                self.comes_back = True
            bases.append(base)
        elif base != bases[-1]:
            self.comes_back = True
        self.command = command

    def use_together(self, others: _Values, is_apart: bool) -> None:
        """Add those that are used in a loop inside, or by a condition."""
        self.comes_back |= others.comes_back or is_apart
        for base in others.bases:
            if base not in self.bases:
                self.bases.append(base)
            elif base != self.bases[-1]:
                self.comes_back = True


class Work:
    """What a loop or a condition, or all of a program, asks of the host, with what is inside."""

    def __init__(self, loop: Loop | None, outer: Work | None, times: float) -> None:
        self.loop = loop
        self.is_loop = loop is not None and loop.extent.op not in BOOLEAN_OPS
        self.extent = loop.extent.value if loop is not None else 0  # if it is a constant, else 0
        self.outer = outer
        self.times = times  # that its body is run
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.inner: list[Work] = []
        self.size = 0  # commands and loops
        self.has_steps = False
        self.commands = 0.0
        self.stored = 0.0  # instructions for what registers do not hold
        self.instructions = 0.0
        self.code = 0.0  # instructions in loops, each once
        # Instructions of its own for conditions, and for what does not advance by additions.
        self.asked = 0.0
        self.families: dict[_Family, _Values] = {}
        self.made: set[Expr] = set()
        self.constants: set[object] = set()
        self.registers = 0

    @property
    def per_command(self) -> float:
        return self.instructions / self.commands if self.commands else 0.0

    @property
    def loop_bytes(self) -> float:
        """Of code in loops."""
        return INSTRUCTION_BYTES * self.code

    def parts(self) -> Iterator[Work]:
        """The loops and conditions inside, inner ones first."""
        for part in self.inner:
            yield from part.parts()
            yield part


def rough_cost(nodes: tuple[Node, ...]) -> tuple[float, float]:
    """Commands and instructions at a glance: an addition for each operand that runs."""
    commands = instructions = 0.0
    for node in nodes:
        if isinstance(node, Command):
            rs1, rs2 = node.rs1, node.rs2
            commands += 1
            instructions += 1 + bool(rs1.steps) + bool(rs2.steps)
            instructions += 2 * (bool(rs1.general) + bool(rs2.general))
        else:
            inner, asked = rough_cost(node.body)
            extent = node.extent
            times = extent.value if extent.op is Op.CONST else 0.5
            commands += inner * times
            instructions += asked * times + (2 * times if extent.op is Op.CONST else extent.depth)
    return commands, instructions


def work_of(nodes: tuple[Node, ...], commands: CommandSet, registers: int) -> Work:
    """What a program of a device's commands asks of a host with so many registers for operands."""
    whole = _Walk(commands).program(nodes)
    for part in whole.parts():
        _advance(part)
    for part in whole.parts():
        _fit(part, registers)
    whole.instructions += _CONSTANT * len(whole.constants)
    return whole


class _Walk:
    """Goes through a program in its order."""

    def __init__(self, commands: CommandSet) -> None:
        self.commands = commands
        self.around: dict[int, Work] = {}  # by loop id

    def program(self, nodes: tuple[Node, ...]) -> Work:
        self.whole = Work(None, None, 1)
        self.body(nodes, self.whole)
        return self.whole

    def body(self, nodes: tuple[Node, ...], work: Work) -> None:
        uses: dict[_Family, _Values] = {}
        for node in nodes:
            work.size += 1
            if isinstance(node, Command):
                work.commands += work.times
                work.instructions += work.times
                work.has_steps = work.has_steps or self.commands.is_computing(
                    node.funct, node.rs1.base
                )
                for word in (node.rs1, node.rs2):
                    if word.steps or word.general:
                        family = word.address, word.steps, word.general
                        values = uses.get(family)
                        if values is None:
                            values = uses[family] = _Values()
                        values.use(word.base, node)
                    elif word.base or word.address is not None:
                        work.constants.add((word.address, word.base))
            else:
                self.loop(node, work)
        for family, values in uses.items():
            home = self.home(family)
            others = home.families.get(family)
            if others is None and home is work:
                home.families[family] = values
                continue
            if others is None:
                others = home.families[family] = _Values()
            others.use_together(values, is_apart=home is not work and not work.extent)

    def loop(self, node: Loop, work: Work) -> None:
        extent = node.extent
        if extent.op in BOOLEAN_OPS:
            inner = Work(node, work, work.times * self.share(extent))
            branches = work.times * self.branches(extent, work)
            work.instructions += branches
            nearest = work
            while nearest.outer is not None and not nearest.is_loop:
                nearest = nearest.outer
            nearest.asked += branches
        else:
            inner = Work(node, work, work.times * (extent.value if extent.op is Op.CONST else 1))
            inner.instructions = inner.times + work.times
            inner.registers = 1
            self.expression(extent)
        work.inner.append(inner)
        before = self.around.get(node.loop_id)
        self.around[node.loop_id] = inner
        self.body(node.body, inner)
        if before is not None:
            self.around[node.loop_id] = before

    def share(self, condition: Expr) -> float:
        """Of how many iterations of the loop around a condition is met."""
        if condition.op is Op.AND:
            return min(self.share(condition.args[0]), self.share(condition.args[1]))
        if len(condition.args) != 2:  # of what is no comparison, nothing is known
            return 0.5
        a, b = condition.args
        if (a.op, b.op) not in ((Op.VAR, Op.CONST), (Op.CONST, Op.VAR)):
            return 0.5
        extent = self.around[a.value if a.op is Op.VAR else b.value].extent
        if not extent or condition.op not in (Op.EQ, Op.LE, Op.LT):
            return 0.5
        if condition.op is Op.EQ:
            met = 1
        else:
            met = b.value if b.op is Op.CONST else extent - 1 - a.value
            met += condition.op is Op.LE
        return min(max(met, 0), extent) / extent

    def branches(self, condition: Expr, work: Work) -> int:
        """Of a condition; what it compares is made."""
        if condition.op in (Op.AND, Op.OR):
            return sum([self.branches(arg, work) for arg in condition.args])
        for arg in condition.args:
            if arg.op is not Op.CONST:
                self.expression(arg)
            elif arg != ZERO:
                work.constants.add(arg.value & WORD_MASK)
        return 1

    def expression(self, expr: Expr) -> Work | None:
        """The innermost loop of whose variable an expression is, where it is made."""
        if expr.op is Op.CONST:
            return None
        if expr.op is Op.VAR:
            found = self.around[expr.value]
            if not found.is_loop:
                return None
            found.registers = 2  # it counts
            return found
        home: Work | None = None
        for arg in expr.args:
            other = self.expression(arg)
            if other is not None and (home is None or other.depth > home.depth):
                home = other
        if home is not None and expr not in home.made:
            home.made.add(expr)
            instructions = 1
            if expr.op is Op.TABLE:
                instructions = _OF_TABLE
                home.constants.add(hash(expr.args[1:]) & WORD_MASK)  # where it lies
            home.instructions += instructions * home.times
            home.asked += instructions * home.times
        return home

    def home(self, family: _Family) -> Work:
        """The innermost loop that operands run with."""
        _, steps, terms = family
        home = self.whole
        for loop_id, _ in steps:
            other = self.around[loop_id]
            if other.depth > home.depth and other.is_loop:
                home = other
        for _, expr in terms:
            made = self.expression(expr)
            if made is not None and made.depth > home.depth:
                home = made
        return home


def _advance(work: Work) -> None:
    """Charge what running operands take, which are at home in a loop."""
    for (_, steps, terms), values in work.families.items():
        first = at = values.bases[0]
        for base in values.bases[1:]:
            if base - at not in _ADDED:
                work.constants.add(base - at)
            if not values.comes_back:
                at = base
        work.instructions += work.times * (len(values.bases) - 1)
        work.registers += len(values.bases) if values.comes_back else 1
        begin = work.times * sum([1 if by in (1, -1) else 2 for by, _ in terms])
        work.instructions += begin or _BEGIN
        work.asked += begin
        increments = dict(steps)
        scope, moved = work, at - first
        while scope.outer is not None and scope.loop is not None and scope.extent:
            delta = increments.get(scope.loop.loop_id, 0) - moved
            if delta:
                scope.instructions += scope.times
            if delta not in _ADDED:
                scope.constants.add(delta)
            moved = (delta + moved) * scope.extent
            scope = scope.outer


def _fit(work: Work, registers: int) -> None:
    """Charge what does not fit the registers, and add a part to the one around."""
    live = work.registers + len(work.constants)
    if live > registers:
        stored = min(live - registers, len(work.constants))
        running = live - registers - stored
        work.stored += work.times * (stored + 2 * running)
        work.instructions += work.times * (stored + 2 * running) + _STORED_CONSTANT * stored
        work.registers -= running
        for _ in range(stored):
            work.constants.pop()
    outer = work.outer
    assert outer is not None
    own = work.instructions - sum([part.instructions for part in work.inner])
    if work.times and (work.is_loop or outer.loop is not None):
        work.code += own / work.times
    outer.code += work.code
    outer.size += work.size
    outer.has_steps |= work.has_steps
    outer.commands += work.commands
    outer.stored += work.stored
    outer.instructions += work.instructions
    outer.registers += work.registers
    outer.constants |= work.constants
    work.outer = None  # a tree without cycles is freed at once
