from __future__ import annotations

import itertools
import math
import random

from npu_target.schedule_rules.traces import Structure
from npu_target.tuning.point_model import PointModel
from npu_target.tuning.points import Point, PointSpace


def trace_of(*extents: int, name: str = "", order: int = 0) -> list:
    sample = ["SamplePerfectTile", [], [2, 65536], []]
    instructions = [["GetLoops", [name], [], []], *[sample for _ in extents]]
    instructions.append(["Reorder", [], [order], []])
    return [instructions, [[1 + index, [extent, 1]] for index, extent in enumerate(extents)]]


SPACE = PointSpace(
    [Structure.of(trace_of(64, 64, name=f"{i}", order=i % 2)) for i in range(6)], random.Random(0)
)
POINTS = [
    Point(structure, (1 << a, 1 << b))
    for structure, a, b in itertools.product(range(6), range(7), range(7))
]


def cost(point: Point) -> float:
    """Odd structures are slow; the best tiles are 8 x 16."""
    a, b = (math.log2(tile) for tile in point.tiles)
    return 1000.0 * (1 + (a - 3) ** 2 + (b - 4) ** 2) * (3 if point.structure % 2 else 1)


def test_the_most_promising_points_are_good_ones():
    model = PointModel(SPACE.structures, 0)
    shuffled = random.Random(1).sample(POINTS, len(POINTS))
    known, others = shuffled[:120], shuffled[120:]
    for point in known:
        model.learn(point, cost(point))
    chosen = model.best_of(others, 12)
    ranks = sorted(others, key=cost)
    assert sum(ranks.index(point) < 36 for point in chosen) >= 9


def test_what_cannot_run_is_not_promising():
    model = PointModel(SPACE.structures, 0)
    for point in POINTS[::2]:
        model.learn(point, math.inf if point.tiles[0] > 8 else 1000.0)
    assert all(point.tiles[0] <= 8 for point in model.best_of(POINTS[1::2], 20))


def test_with_little_known_the_first_are_taken():
    model = PointModel(SPACE.structures, 0)
    model.learn(POINTS[0], 5.0)
    assert model.best_of(POINTS, 4) == POINTS[:4]
    assert model.best_of(POINTS[:3], 4) == POINTS[:3]


def test_structures_that_do_not_differ_have_no_traits():
    model = PointModel(SPACE.structures[:1], 0)
    for point in POINTS[:49:2]:
        model.learn(point, cost(point))
    assert len(model.best_of(POINTS[1:49:2], 5)) == 5
