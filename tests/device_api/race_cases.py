"""Short streams for a small device: which of them race, and what they are made of."""

from __future__ import annotations

from device_api.streams import ACC, ACCUMULATE, BASE, Words, config_ex, local
from reference.device import GARBAGE
from reference.races import ACC_BANK_ROWS

MVIN, MVIN2, MVIN3, MVOUT, COMPUTE, COMPUTE_ACCUMULATED, PRELOAD = 2, 1, 14, 3, 4, 5, 6
NOTHING = local(GARBAGE, 16, 16)
OUT = BASE + 4096


def load(to: int, rows: int = 16, cols: int = 16, dram: int = BASE, funct: int = MVIN) -> Words:
    return funct, dram, local(to, rows, cols)


def store(row: int, rows: int = 16, dram: int = OUT, cols: int = 16) -> Words:
    return MVOUT, dram, local(row, rows, cols)


def matmul(a: int, b: int, c: int, rows: int = 16) -> list[Words]:
    """With garbage for B, by the weights that are there."""
    compute = COMPUTE_ACCUMULATED if b == GARBAGE else COMPUTE
    return [(PRELOAD, local(b, 16, 16), local(c, rows, 16)), (compute, local(a, rows, 16), NOTHING)]


WEIGHTS = matmul(96, 112, GARBAGE)
SUM = load(ACCUMULATE, funct=MVIN2)
BANK = ACC | ACC_BANK_ROWS  # the second one of the accumulator
ZEROS = load(ACC, dram=0)
WIDE = load(BANK, 8, 24, funct=MVIN2)
REPEATED = load(BANK, 8, funct=MVIN3)
CASES: dict[str, tuple[bool, list[Words]]] = {
    "a sum of two loads": (True, [load(ACC), SUM, store(ACC)]),
    "that is stored between them": (False, [load(ACC), store(ACC, 1), SUM, store(ACC)]),
    "another row is stored between": (True, [load(ACC), store(ACC | 40, 1), SUM, store(ACC)]),
    "zeros before a sum": (True, [load(ACC, dram=0), SUM, store(ACC)]),
    "sums in any order": (False, [SUM, SUM, SUM, store(ACC)]),
    "an overwriting load after sums": (True, [SUM, load(ACC), store(ACC)]),
    "nobody reads what two loads wrote": (False, [load(0), load(8), store(24)]),
    "a reader of one load's rows alone": (False, [load(0), load(8), store(0, 8)]),
    "a reader of both loads' rows": (True, [load(0), load(8), store(0)]),
    "the array reads between": (
        False,
        [load(0), *matmul(0, 64, ACC), load(0), *matmul(0, 64, ACC)],
    ),
    "the array waits for another load": (
        True,
        [load(0), *matmul(16, 64, ACC), load(0), *matmul(0, 64, ACC)],
    ),
    "ordered by way of a load before": (
        # The store waits for the first load, the second for the store, the last is behind that.
        False,
        [load(0, 32 // 2, 32), store(24), load(24), load(0), store(0)],
    ),
    "settled by the array": (
        False,
        [load(0), load(0), *matmul(64, 80, 0), store(0)],
    ),
    "a load of stored bytes": (True, [load(0), store(0), load(32, dram=OUT)]),
    "a load of bytes between stored ones": (False, [load(0), store(0), load(32, dram=OUT + 16)]),
    "in place, ordered by rows": (False, [load(0), store(0, dram=BASE)]),
    "in place by way of the array": (
        False,
        [load(0), load(64, dram=BASE + 2048), *matmul(0, 64, ACC), store(ACC, dram=BASE)],
    ),
    "stored where a load may still read": (True, [load(0), store(40, dram=BASE)]),
    "two stores of the same bytes": (False, [store(0), store(16)]),
    "the result stored before its compute": (
        True,
        [matmul(0, 64, ACC)[0], store(ACC), matmul(0, 64, ACC)[1]],
    ),
    "the array reads its own result elsewhere": (
        True,
        [*matmul(0, 64, 32), *matmul(40, 64, ACC, 4)],
    ),
    "where it begins": (False, [*matmul(0, 64, 32), *matmul(32, 64, ACC, 4)]),
    "zeros after data of another bank": (True, [WIDE, ZEROS]),
    "zeros before data of another bank": (True, [ZEROS, WIDE]),
    "zeros while a row is repeated in another bank": (True, [REPEATED, ZEROS]),
    "while it is added": (True, [load(BANK | ACCUMULATE, 8, 24, funct=MVIN2), ZEROS]),
    "zeros that are added": (True, [WIDE, load(ACCUMULATE, dram=0)]),
    "zeros and data of one bank": (
        False,
        [load(ACC, 8, 24, funct=MVIN2), load(ACC | 40, 8, 16, 0)],
    ),
    "data that reach into another bank": (True, [load(ACC | 48, 8, 24, funct=MVIN2), ZEROS]),
    "zeros that reach into another bank": (True, [WIDE, load(BANK - 8, 16, 16, 0)]),
    "data as wide as the array": (False, [load(BANK, funct=MVIN2), ZEROS]),
    "sums as wide as the array": (False, [load(BANK), ZEROS]),
    "a row that is not repeated": (False, [load(BANK, 1, funct=MVIN3), ZEROS]),
    "zeros of the scratchpad": (False, [WIDE, REPEATED, load(0, dram=0)]),
    "data of the scratchpad": (False, [load(0, 8, 24), load(32, funct=MVIN3), ZEROS]),
    "results in another bank": (False, [ZEROS, *matmul(0, 64, BANK)]),
    "a store between that waits for neither": (True, [WIDE, store(ACC | 32), ZEROS]),
    "a store between that the zeros alone wait for": (True, [WIDE, store(ACC), ZEROS]),
    "a store between that waits for the data alone": (True, [WIDE, store(BANK, 8), ZEROS]),
    "stores between that wait, and are waited for": (
        False,
        [WIDE, store(BANK, 8), store(ACC), ZEROS],
    ),
    "the array between": (False, [WIDE, *matmul(0, 64, BANK), *matmul(0, 64, ACC), ZEROS]),
    "data before those that are known to be complete": (
        True,
        [WIDE, load(BANK | 8, 8, 24, funct=MVIN2), store(BANK | 32, 4), store(ACC), ZEROS],
    ),
    # It learns of the first load from the fourth, and so of all of them.
    "ordered by the array, which learns of other loads on the way": (
        False,
        [
            *(load(BANK, 8, dram=0), store(BANK), store(ACC)),
            *[load(ACC, 8, dram=0)] * 2,
            *(*matmul(0, 64, ACC, 8), load(ACC, 8, dram=0), store(ACC, 8)),
        ],
    ),
    "ordered by a compute that comes later": (
        True,
        [
            *WEIGHTS,
            load(0, 2),
            matmul(0, GARBAGE, ACC | 4, 2)[0],
            store(ACC, 8, BASE),
            matmul(0, 64, ACC)[1],
        ],
    ),
    "ordered by a preload whose compute comes later": (
        True,
        [load(0, 2), matmul(0, 0, ACC | 4, 2)[0], store(ACC, 8, BASE), matmul(0, 64, ACC)[1]],
    ),
    "ordered by a compute before": (
        False,
        [*WEIGHTS, load(0, 2), *matmul(0, GARBAGE, ACC | 4, 2), store(ACC, 8, BASE)],
    ),
    "a sum of rows that the result before ends with": (
        True,
        [*matmul(0, 64, ACC), *matmul(0, 64, ACCUMULATE | 14)],
    ),
    "with its last row": (True, [*matmul(0, 64, ACC), *matmul(0, GARBAGE, ACCUMULATE | 15)]),
    "with the row before these": (False, [*matmul(0, 64, ACC), *matmul(0, 64, ACCUMULATE | 13)]),
    "no sum": (False, [*matmul(0, 64, ACC), *matmul(0, 64, ACC | 14)]),
    "a sum of the same rows": (False, [*matmul(0, 64, ACC), *matmul(0, GARBAGE, ACCUMULATE)]),
    "a sum of one row again and again": (False, [*matmul(0, 64, ACCUMULATE, 1)] * 3),
    "and by the same weights": (
        False,
        [*WEIGHTS, *([*matmul(0, GARBAGE, ACCUMULATE, 1)] * 3)],
    ),
    "a short result in a short run": (
        True,
        [*WEIGHTS, *matmul(0, GARBAGE, ACC, 3), *matmul(0, GARBAGE, ACCUMULATE | 2, 3)],
    ),
    "a short result in a long run": (
        False,
        [*matmul(0, 64, ACC, 3), *matmul(0, 64, ACCUMULATE | 2, 3)],
    ),
    "another result between": (
        False,
        [*matmul(0, 64, ACC), *WEIGHTS, *matmul(0, 64, ACCUMULATE | 14)],
    ),
    "a config between": (
        False,
        [*matmul(0, 64, ACC), config_ex(), *matmul(0, 64, ACCUMULATE | 14)],
    ),
    "after a config": (False, [*matmul(0, 64, 32), config_ex(), *matmul(40, 64, ACC, 4)]),
}
