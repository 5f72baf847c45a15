from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_lines import logs as main
from hypothesis import given, settings
from hypothesis import strategies as st
from tuning.damage import (
    ALL_FILES,
    DATA_FILES,
    Files,
    any_damage,
    bound_records,
    flips,
    intact,
    line_changes,
    lines_of,
    make_files,
    write_files,
)
from tvm.s_tir import meta_schedule as ms

from npu_target.device import preset
from npu_target.tuning.errors import LogError
from npu_target.tuning.header import HEADER_FILE, Header
from npu_target.tuning.log import open_log, read_log
from npu_target.tuning.log_files import (
    CHECKS,
    CHECKSUMS_FILE,
    FAILURES_FILE,
    MEASUREMENTS_FILE,
    RECORDS_FILE,
    WORKLOADS_FILE,
    checksum_entry,
)
from npu_target.tuning.repair import Repaired, repair

HEADER = Header.of(preset("gemmini-8x8"), "resnet18", "tune.py")
COMMITTED = sorted((Path(__file__).parents[2] / "tuning_logs").glob("*/*/"))


@pytest.fixture
def folder(tmp_path, workloads, make_record):
    with open_log(tmp_path / "log", HEADER) as log:
        for index, inner, seconds in ((0, 4, 2e-5), (1, 8, 5e-5), (0, 16, 1e-5), (1, 2, 3e-5)):
            entry = {"task": f"{index}", "cycles": 1, "program": None, "trial": inner}
            log.add(make_record(workloads[index], inner, seconds), entry)
    return tmp_path / "log"


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Files:
    return make_files(tmp_path_factory.mktemp("whole") / "log")


def contents(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@contextmanager
def repaired(damaged: Files) -> Iterator[tuple[Files, dict[str, Repaired]]]:
    """The files after a repair, which can be read, and which another repair would not change."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "log"
        write_files(folder, damaged)
        results = {result.file: result for result in repair(folder)}
        after = contents(folder)
        read_log(folder, HEADER)
        assert not any(result.dropped or result.unchecked for result in repair(folder))
        assert contents(folder) == after
        yield after, results


# ---- what is whole ---------------------------------------------------------------------------


def test_whole_logs_stay_as_they_are(folder):
    before = contents(folder)
    assert main(["repair", str(folder)]) == 0
    assert contents(folder) == before


def test_there_are_committed_logs():
    assert len(COMMITTED) >= 5


@pytest.mark.parametrize("logs", COMMITTED, ids=lambda path: path.name)
def test_the_committed_logs_are_whole(logs, tmp_path, capsys):
    """In a process that knows none of the tensor intrinsics of their traces."""
    folder = tmp_path / "log"
    shutil.copytree(logs, folder, ignore=shutil.ignore_patterns(".lock"))
    before = contents(folder)
    assert main(["repair", str(folder)]) == 0
    assert {name: data for name, data in contents(folder).items() if name != ".lock"} == before
    said = capsys.readouterr().out
    assert said.count(" 0 dropped") == len(CHECKS) and "checksum" not in said


# ---- any damage ------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(damages=any_damage(ALL_FILES))
def test_only_what_is_damaged_is_lost(whole, damages):
    damaged = Files(whole)
    for damage in damages:
        damage(damaged)
    good = intact(whole, damaged)
    with repaired(damaged) as (after, results):
        for name in (WORKLOADS_FILE, MEASUREMENTS_FILE, FAILURES_FILE):
            assert set(good[name]) <= set(lines_of(after, name)), name
        kept = bound_records(after)
        records = zip(lines_of(whole, RECORDS_FILE), bound_records(whole), strict=True)
        for line, record in records:
            if line in good[RECORDS_FILE] and record[0] in good[WORKLOADS_FILE]:
                assert record in kept
        # Nothing is trusted without a word.
        for name in DATA_FILES:
            lines = bound_records if name == RECORDS_FILE else lambda f, n=name: lines_of(f, n)
            strange = [line for line in lines(after) if line not in lines(whole)]
            assert len(strange) <= len(results[name].unchecked), name


@settings(max_examples=100, deadline=None)
@given(damages=any_damage([CHECKSUMS_FILE]))
def test_damaged_checksums_cost_no_line(whole, damages):
    damaged = Files(whole)
    for damage in damages:
        damage(damaged)
    with repaired(damaged) as (after, results):
        assert all(after[name] == whole[name] for name in DATA_FILES)
        assert not any(result.dropped for result in results.values())


@settings(max_examples=200, deadline=None)
@given(damage=flips(DATA_FILES))
def test_a_flipped_bit_costs_one_line_at_most_and_is_found(whole, damage):
    damaged = Files(whole)
    damage(damaged)
    (name,) = (name for name in DATA_FILES if damaged[name] != whole[name])
    lost_lines = [line for line in lines_of(whole, name) if line not in damaged[name]]
    assert len(lost_lines) <= 1
    with repaired(damaged) as (after, results):
        if name != RECORDS_FILE:
            kept = [line for line in lines_of(whole, name) if line not in lost_lines]
            assert lines_of(after, name) == kept
        lost_workloads = lost_lines if name == WORKLOADS_FILE else []
        assert bound_records(after) == [
            record
            for line, record in zip(
                lines_of(whole, RECORDS_FILE), bound_records(whole), strict=True
            )
            if line not in lost_lines and record[0] not in lost_workloads
        ]
        assert bool(results[name].dropped) == bool(lost_lines)
        assert not any(result.unchecked for result in results.values())


@settings(max_examples=100, deadline=None)
@given(damages=st.lists(line_changes(DATA_FILES), min_size=1, max_size=6))
def test_lines_find_back_to_their_places(whole, damages):
    damaged = Files(whole)
    for damage in damages:
        damage(damaged)
    with repaired(damaged) as (after, _):
        for name in (WORKLOADS_FILE, MEASUREMENTS_FILE, FAILURES_FILE):
            there = set(lines_of(damaged, name))
            assert lines_of(after, name) == [x for x in lines_of(whole, name) if x in there]
        there = set(lines_of(damaged, RECORDS_FILE))
        workloads = lines_of(damaged, WORKLOADS_FILE)
        assert bound_records(after) == [
            record
            for line, record in zip(
                lines_of(whole, RECORDS_FILE), bound_records(whole), strict=True
            )
            if line in there and record[0] in workloads
        ]


# ---- one by one ------------------------------------------------------------------------------


def test_a_cut_off_record_goes_and_the_others_stay(folder, workloads, capsys):
    path = folder / RECORDS_FILE
    damaged = path.read_bytes()[:-20]
    path.write_bytes(damaged)
    assert main(["repair", str(folder)]) == 1
    assert (
        f"{RECORDS_FILE}: 3 lines kept, 1 dropped\n  line 4: is cut off" in capsys.readouterr().out
    )
    log = read_log(folder, HEADER)
    assert [r.seconds for r in log.records_of(workloads[1])] == [5e-5]
    assert len(log.records_of(workloads[0])) == 2
    assert (folder / (RECORDS_FILE + ".broken")).read_bytes() == damaged


def test_a_record_of_another_form_goes_though_its_checksum_holds(whole, tmp_path):
    """As one that was appended by something else, with a checksum."""
    line = b'{"task":"t0","message":"no","program":null}'
    damaged = Files(whole)
    damaged[FAILURES_FILE] += line + b"\n"
    damaged[CHECKSUMS_FILE] += checksum_entry(FAILURES_FILE, 4, line) + b"\n"
    with repaired(damaged) as (after, results):
        assert after[FAILURES_FILE] == whole[FAILURES_FILE]
        assert results[FAILURES_FILE].dropped == [(4, "has no usable 'kind'")]


def test_the_old_form_of_an_earlier_repair_stays(folder):
    path = folder / RECORDS_FILE
    olds = []
    for _ in range(2):
        path.write_bytes(path.read_bytes()[:-20])
        olds.append(path.read_bytes())
        repair(folder)
    assert [(folder / f"{RECORDS_FILE}.broken{n}").read_bytes() for n in ("", "2")] == olds


def test_a_record_that_lacks_only_its_line_end_is_kept(folder, workloads):
    path = folder / RECORDS_FILE
    path.write_bytes(path.read_bytes().rstrip())
    assert main(["repair", str(folder)]) == 0
    assert len(read_log(folder, HEADER).records_of(workloads[1])) == 2


@pytest.mark.parametrize("damage", ["", "x" * 50 + "\n", '["1", "bm90IGJhc2U2NA=="]\n'])
def test_records_move_along_when_a_workload_is_lost(folder, workloads, damage, capsys):
    path = folder / WORKLOADS_FILE
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(damage + lines[1])
    assert main(["repair", str(folder)]) == 1
    assert (
        f"line 1: belongs to line 1 of {WORKLOADS_FILE}, which is lost" in capsys.readouterr().out
    )
    log = read_log(folder, HEADER)
    assert not log.records_of(workloads[0])
    assert [r.seconds for r in log.records_of(workloads[1])] == [3e-5, 5e-5]
    assert log.best(workloads[1]) is not None


def test_the_lines_that_are_missing_are_told(folder, capsys):
    (folder / RECORDS_FILE).unlink()
    assert main(["repair", str(folder)]) == 1
    assert "0 lines kept, 4 dropped\n  lines 1 to 4: is missing" in capsys.readouterr().out


def test_logs_without_checksums_get_them(folder, capsys):
    """As those of a version that wrote none."""
    before = contents(folder)
    (folder / CHECKSUMS_FILE).unlink()
    with pytest.raises(LogError, match=r"line 1 has no checksum; .* repair"):
        read_log(folder, HEADER)
    assert main(["repair", str(folder)]) == 0
    assert "lines 1 to 4: could not be checked: kept" in capsys.readouterr().out
    after = contents(folder)
    assert sorted(after.pop(CHECKSUMS_FILE).splitlines()) == sorted(
        before.pop(CHECKSUMS_FILE).splitlines()
    )
    assert after == before


def test_what_metaschedules_own_class_adds_is_kept(folder, workloads, make_record, capsys):
    before = len(read_log(folder, HEADER).records_of(workloads[0]))
    database = ms.database.JSONDatabase(work_dir=str(folder))
    database.commit_tuning_record(make_record(workloads[0], 32, 1.0))
    with pytest.raises(LogError, match="line 5 has no checksum"):
        read_log(folder, HEADER)
    assert main(["repair", str(folder)]) == 0
    assert "line 5: could not be checked: kept" in capsys.readouterr().out
    assert len(read_log(folder, HEADER).records_of(workloads[0])) == before + 1
    assert len(ms.database.JSONDatabase(work_dir=str(folder))) == 5


def test_records_whose_workload_cannot_be_checked_are_told(whole):
    """A workload is there twice, and neither its checksum nor that of the last one is."""
    damaged = Files(whole)
    entries = whole[CHECKSUMS_FILE].splitlines(keepends=True)
    lost = [f'["{WORKLOADS_FILE}",{number},'.encode() for number in (1, 4)]
    damaged[CHECKSUMS_FILE] = b"".join(x for x in entries if not x.startswith(tuple(lost)))
    lines = whole[WORKLOADS_FILE].splitlines(keepends=True)
    damaged[WORKLOADS_FILE] = b"".join([*lines[:3], lines[0], lines[3]])
    with repaired(damaged) as (after, results):
        assert bound_records(after) == bound_records(whole)
        assert results[WORKLOADS_FILE].dropped == [(4, "is there already")]
        assert results[RECORDS_FILE].unchecked == [1, 4, 5, 8, 9, 12]


def test_a_line_without_a_checksum_that_cannot_be_a_workload_goes(folder):
    (folder / CHECKSUMS_FILE).unlink()
    path = folder / WORKLOADS_FILE
    path.write_text(path.read_text() + '["1", "bm90IGJhc2U2NA=="]\n')
    workloads = repair(folder)[0]
    assert (workloads.kept, workloads.dropped) == (2, [(3, "cannot be read")])


def test_a_lost_header_tells_what_measured_by_the_name_of_its_folder(tmp_path):
    for place, runner in (("gemmini-8x8@board", "board"), ("gemmini-8x8", ""), ("elsewhere@x", "")):
        folder = tmp_path / place / "resnet18"
        folder.mkdir(parents=True)
        repair(folder, preset("gemmini-8x8"), "resnet18")
        assert Header.read(folder).runner == runner


def test_a_lost_header_is_restored_when_device_and_model_are_given(folder):
    (folder / HEADER_FILE).write_text("{")
    with pytest.raises(LogError):
        repair(folder)
    arguments = ["repair", str(folder), "--device", "gemmini-8x8", "--model"]
    assert main([*arguments, "../resnet18"]) == 1
    assert (folder / HEADER_FILE).read_text() == "{"
    assert main([*arguments, "resnet18"]) == 0
    read_log(folder, HEADER)


def test_in_a_folder_without_logs_nothing_is_left(tmp_path):
    with pytest.raises(LogError):
        repair(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere"], "nowhere is not a folder of tuning logs"),
        (["{folder}", "--device", "abacus"], "no device is called 'abacus'"),
    ],
)
def test_wrong_input_is_one_line(folder, capsys, arguments, says):
    assert main(["repair", *[text.format(folder=folder) for text in arguments]]) == 1
    error = capsys.readouterr().err
    assert (
        error.startswith("npu-target logs repair: error: ")
        and error.count("\n") == 1
        and says in error
    )


def test_the_exit_codes_are_in_the_help(capsys):
    with pytest.raises(SystemExit):
        main(["repair", "--help"])
    assert "0 when nothing was dropped or is missing, 1 when" in " ".join(
        capsys.readouterr().out.split()
    )
