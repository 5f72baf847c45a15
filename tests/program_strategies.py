"""Random programs for property tests."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from npu_target import program as p
from npu_target.devices.gemmini import PRESETS
from npu_target.program import (
    Address,
    Arg,
    Command,
    Constant,
    Expr,
    Loop,
    Node,
    Op,
    Operand,
    Program,
)
from npu_target.program.program import ROLES

INT64S = st.one_of(
    st.integers(-40, 40), st.integers(-(2**63), 2**63 - 1), st.sampled_from([-(2**63), 2**63 - 1])
)
NAMES = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
# Divisions and tables can fail and are tested apart.
UNSAFE_OPS = (Op.CONST, Op.VAR, Op.FLOOR_DIV, Op.FLOOR_MOD, Op.TABLE)
LOOP_IDS = (0, 1, 7, 2**32 - 1)
SAFE_OPS = [op for op in Op if op not in UNSAFE_OPS]


def _entry(value: Expr, words: list[int]) -> Expr:
    """An entry of a table, whatever the value."""
    constants = [Expr(Op.CONST, word) for word in words]
    index = Expr(Op.FLOOR_MOD, args=(value, Expr(Op.CONST, len(words))))
    return Expr(Op.TABLE, args=(index, *constants))


@cache  # building strategies takes longer than drawing from them
def expressions(loop_ids: tuple[int, ...], max_leaves: int = 8) -> st.SearchStrategy[Expr]:
    """Unfolded trees, as a file may hold them."""
    leaves = INT64S.map(lambda value: Expr(Op.CONST, value))
    if loop_ids:
        leaves |= st.sampled_from(loop_ids).map(p.var)

    def node(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        def of(op: Op) -> st.SearchStrategy[Expr]:
            args = st.tuples(*[children] * (3 if op is Op.SELECT else 2))
            return args.map(lambda found: Expr(op, args=found))

        divisor = st.integers(-9, 9).filter(bool).map(lambda value: Expr(Op.CONST, value))
        division = st.builds(
            lambda op, a, b: Expr(op, args=(a, b)),
            st.sampled_from([Op.FLOOR_DIV, Op.FLOOR_MOD]),
            children,
            divisor,
        )
        return (
            st.sampled_from(SAFE_OPS).flatmap(of)
            | division
            | st.builds(_entry, children, st.lists(INT64S, min_size=1, max_size=4))
        )

    return st.recursive(leaves, node, max_leaves=max_leaves)


def addresses_of(n_args: int) -> st.SearchStrategy[Address]:
    """Of bytes in whole words, or of larger units in fields; arguments at pages can have both."""
    index = st.integers(0, n_args - 1)
    return index.map(Address) | st.builds(
        Address, index, st.integers(0, 12), st.sampled_from([0, 3, 26, 63])
    )


@cache
def operands(loop_ids: tuple[int, ...], n_args: int) -> st.SearchStrategy[Operand]:
    steps = st.just(())
    if loop_ids:
        steps = st.lists(st.tuples(st.sampled_from(loop_ids), INT64S), max_size=3).map(tuple)
    return st.builds(
        Operand,
        st.integers(0, 2**64 - 1),
        st.none() | addresses_of(n_args) if n_args else st.none(),
        steps,
        st.lists(st.tuples(INT64S, expressions(loop_ids)), max_size=2).map(tuple),
    )


@cache
def extents(loop_ids: tuple[int, ...]) -> st.SearchStrategy[Expr]:
    bounded = expressions(loop_ids).map(lambda expr: p.minimum(expr, 3))
    return st.integers(-1, 4).map(p.const) | bounded


@st.composite
def bodies(
    draw: st.DrawFn,
    loop_ids: tuple[int, ...],
    n_args: int,
    depth: int,
) -> tuple[Node, ...]:
    nodes: list[Node] = []
    for _ in range(draw(st.integers(0, 3))):
        free = [found for found in LOOP_IDS if found not in loop_ids]
        if depth and free and draw(st.booleans()):
            fresh = draw(st.sampled_from(free))
            inner = draw(bodies((*loop_ids, fresh), n_args, depth - 1))
            nodes.append(Loop(fresh, draw(extents(loop_ids)), inner))
        else:
            operand = operands(loop_ids, n_args)
            nodes.append(Command(draw(st.integers(0, 127)), draw(operand), draw(operand)))
    return tuple(nodes)


@st.composite
def programs(draw: st.DrawFn, with_constants: bool = False) -> Program:
    """Any; those of C that is run have no constants, whose addresses the compiler chooses."""
    args = draw(
        st.lists(
            st.builds(
                Arg,
                NAMES,
                st.sampled_from(ROLES),
                st.sampled_from(["int8", "int32", "float32", "bool"]),
                st.lists(st.integers(1, 9), max_size=3).map(tuple),
            ),
            max_size=3,
            unique_by=lambda arg: arg.name,
        )
    )
    constants: tuple[Constant, ...] = ()
    if with_constants:
        names = NAMES.map(lambda name: f"{name} ")  # of no argument
        found = st.lists(st.builds(Constant, names, st.binary(max_size=40)), max_size=2)
        constants = tuple(draw(found.filter(lambda some: len({c.name for c in some}) == len(some))))
    config = draw(st.sampled_from(PRESETS))
    body = draw(bodies((), len(args) + len(constants), depth=3))
    return Program(draw(NAMES), config, tuple(args), body, constants)


def places(program: Program) -> st.SearchStrategy[dict[str, int]]:
    """Addresses that a program's arguments and constants may have, by name."""
    return st.fixed_dictionaries(
        {
            place.name: st.integers(0, (2**64 - place.nbytes) // multiple).map(
                lambda at, multiple=multiple: at * multiple
            )
            for place, multiple in zip(program.places, program.alignments, strict=True)
        }
    )
