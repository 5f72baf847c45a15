"""The difference of two runs, in tables and in one sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from npu_target.device import kind_named
from npu_target.device.profile import ProfileTerms

from .errors import SimError
from .run import FORMAT

_COUNTS = {
    "macs": "multiply-accumulates",
    "bytes_loaded": "bytes loaded",
    "bytes_stored": "bytes stored",
    "l2_misses": "L2 misses",
    "commands": "commands of the host",
}
_OWN = "l2_misses"  # of the counts: of some kinds of device alone


def read_result(path: Path) -> dict[str, Any] | None:
    """What `--json` wrote, None for a file that is something else. Raises SimError for a result
    that lacks something, OSError when the file cannot be read."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        return None
    try:
        if "runner" in result:
            runs = [run["cycles"] for run in result["runs"]]
            is_whole = bool(runs) and all(type(cycles) is int and cycles > 0 for cycles in runs)
            if is_whole:
                return result
        run = result["runs"][-1]
        terms = kind_named(result["kind"]).profile
        evidence = {what for each in terms.evidence.values() for what in each}
        counts = [key for key in _COUNTS if key != _OWN or key in evidence]
        numbers = [run["cycles"], *(run[key] for key in counts)]
        numbers += [run["breakdown"][key] for key in terms.reasons]
        numbers += [*run["issued"].values(), *run["unrolled"].values()]
        is_whole = all(type(number) is int for number in numbers)
    except (KeyError, IndexError, TypeError, AttributeError):
        is_whole = False
    if not is_whole:
        raise SimError(f"{path}: a damaged result of npu_target.sim; run it again with --json")
    return result


def difference(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    """B minus A, for machines: of the last run of each, or, where a command measured one of them,
    of the first, with cold caches, and of cycles alone. Raises SimError for kinds of device that
    cannot be compared."""
    if not _have_reasons(a, b):
        first, second = _first_cycles(a, b)
        return {"cycles": second - first, "explanation": explanation(a, b)}
    reasons = _terms(a, b).reasons
    first, second = a["runs"][-1], b["runs"][-1]
    kinds = _executed(first), _executed(second)
    return {
        "cycles": second["cycles"] - first["cycles"],
        "breakdown": {key: second["breakdown"][key] - first["breakdown"][key] for key in reasons},
        "counts": {key: second[key] - first[key] for key in _counts(first, second)},
        "commands": {
            name: kinds[1].get(name, 0) - kinds[0].get(name, 0)
            for name in sorted(set(kinds[0]) | set(kinds[1]))
        },
        "explanation": explanation(a, b),
    }


def _have_reasons(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return "runner" not in a and "runner" not in b


def _first_cycles(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[int, int]:
    return a["runs"][0]["cycles"], b["runs"][0]["cycles"]


def _counts(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, str]:
    """What both runs tell, in words."""
    return {key: words for key, words in _COUNTS.items() if key in first and key in second}


def _executed(run: Mapping[str, Any]) -> dict[str, int]:
    """Commands by name, those of the host and those its loops came to."""
    counts = dict(run["issued"])
    for name, count in run["unrolled"].items():
        counts[name] = counts.get(name, 0) + count
    return counts


def explanation(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    """One sentence on the largest cause. Raises SimError as `difference` does."""
    if not _have_reasons(a, b):
        return _cycles_alone(a, b)
    terms = _terms(a, b)
    first, second = a["runs"][-1], b["runs"][-1]
    change = second["cycles"] - first["cycles"]
    start = _change(first["cycles"], second["cycles"])
    if not terms.reasons:
        return f"{start}. The simulator of {a['kind']} devices tells no reasons for its cycles."
    if change == 0 and first["breakdown"] == second["breakdown"]:
        return "A and B take the same cycles for the same reasons."
    parts = {key: second["breakdown"][key] - first["breakdown"][key] for key in terms.reasons}
    sign = -1 if change < 0 else 1
    # The part that goes furthest the way of the whole.
    key = max(parts, key=lambda reason: (sign * parts[reason], reason))
    if change == 0:
        key = max(parts, key=lambda reason: abs(parts[reason]))
    direction = "more" if parts[key] > 0 else "fewer"
    text = f"{start}; the largest cause is {terms.reasons[key]}: {abs(parts[key]):,} {direction}"
    return f"{text}{_evidence(key, terms, first, second)}."


def _change(first: int, second: int) -> str:
    """How many cycles B takes more or fewer, as the beginning of a sentence."""
    change = second - first
    if change == 0:
        return f"A and B take the same {first:,} cycles"
    more = "more" if change > 0 else "fewer"
    percent = f" ({100 * abs(change) / first:.1f} %)" if first else ""
    return f"B takes {abs(change):,} cycles{percent} {more} than A"


def _cycles_alone(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    _terms(a, b)
    text = _change(*_first_cycles(a, b))
    outputs = [result.get("outputs", {}) for result in (a, b)]
    wrong = [name for name in outputs[0] if outputs[0][name] != outputs[1].get(name)]
    bytes_text = f"other bytes in {', '.join(wrong)}" if wrong else "the same outputs"
    return f"{text}, with {bytes_text}. A command tells no reasons for its cycles."


def _terms(a: Mapping[str, Any], b: Mapping[str, Any]) -> ProfileTerms:
    if a["kind"] != b["kind"]:
        raise SimError(
            f"A is of a device of kind {a['kind']}, B of kind {b['kind']}; their cycles "
            "go for other reasons"
        )
    return kind_named(a["kind"]).profile


def _evidence(
    key: str, terms: ProfileTerms, first: Mapping[str, Any], second: Mapping[str, Any]
) -> str:
    for what in terms.evidence.get(key, ()):
        if what in terms.groups:
            kinds = [_executed(run) for run in (first, second)]
            has = [sum(counts.get(name, 0) for name in terms.groups[what]) for counts in kinds]
            words = what
        else:
            has = [first[what], second[what]]
            words = _COUNTS[what]
        if has[0] != has[1]:
            return f", with {has[1]:,} {words} instead of {has[0]:,}"
    return ""


def comparison_tables(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Table]:
    """Cycles by reason, then counts and commands by kind; each with the difference B - A. Of what a
    command measured, cycles alone."""
    if not _have_reasons(a, b):
        alone = _table("First runs, with cold caches")
        _row(alone, "cycles", *_first_cycles(a, b))
        return [alone]
    reasons = _terms(a, b).reasons
    first, second = a["runs"][-1], b["runs"][-1]
    cycles = _table("Where the cycles went" if reasons else "Cycles")
    for key, words in reasons.items():
        _row(cycles, words, first["breakdown"][key], second["breakdown"][key])
    cycles.add_section()
    _row(cycles, "total", first["cycles"], second["cycles"])
    work = _table("What was done")
    for key, words in _counts(first, second).items():
        _row(work, words, first[key], second[key])
    work.add_section()
    kinds = _executed(first), _executed(second)
    for name in sorted(set(kinds[0]) | set(kinds[1])):
        _row(work, name, kinds[0].get(name, 0), kinds[1].get(name, 0))
    return [cycles, work]


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for column in ("A", "B", "B - A"):
        table.add_column(column, justify="right")
    return table


def _row(table: Table, words: str, first: int, second: int) -> None:
    change = second - first
    style = None if change == 0 else "red" if change > 0 else "green"
    table.add_row(
        words, f"{first:,}", f"{second:,}", f"{change:+,}" if change else "0", style=style
    )
