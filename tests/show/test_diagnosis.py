"""The text of a diagnosis: the lines that it shows of a log."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from remedy.causes.engine import explain
from remedy.causes.types import Diagnosis, Evidence, Finding
from remedy.facts.types import Missing, UnitState
from remedy.jit.types import Resolution
from remedy.road import look, tree
from remedy.show.diagnosis import diagnosis_text, explained_text, log_text, time_of
from remedy.value import replace

COMMAND = f"/usr/local/cuda/bin/nvcc {'-isystem /usr/include ' * 40}-o /srv/cache/page.cuda.o"


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ([], ""),
        (["one", "two", "one", "three", "four"], "The log says\n  x  one\n  x  two\n  x  three"),
        (["raise RuntimeError(", "RuntimeError: x"], "The log says\n  x  RuntimeError: x"),
        (["\x1b[31mred\x1b[0m"], "The log says\n  x  red"),
    ],
)
def test_lines_of_a_log(lines: list[str], shown: str) -> None:
    assert log_text([Evidence("log", line, "x") for line in lines], 80) == shown


def test_a_command_that_would_fill_the_screen() -> None:
    text = log_text([Evidence("log", COMMAND, "x")], 80)
    assert text.startswith("The log says\n  x  /usr/local/cuda/bin/nvcc -isystem")
    assert "[...]" in text and text.endswith("page.cuda.o")
    assert len(text.splitlines()) <= 6


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("log:12 2026-05-02 10:11:03 TP0", "line 12"),
        ("log:-3", "line -3"),
        ("somewhere", "somewhere"),
    ],
)
def test_where_a_line_stands(source: str, shown: str) -> None:
    assert time_of(source) == shown


@pytest.mark.parametrize(
    ("line", "following"),
    [
        ("all is quiet", "remedy diagnose UNIT"),
        ("OSError: [Errno 98] Address already in use", "remedy explain port-in-use"),
    ],
)
def test_a_log_leads_on(line: str, following: str) -> None:
    assert following in explained_text(explain([line])).partition("\n\nNext\n")[2]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns"])
def test_times_of_a_journal_are_shown_in_local_time(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for days in range(0, 366 * 70, 17):
            when = datetime(2000, 1, 1, 23, 59, 58, tzinfo=timezone.utc) + timedelta(days=days)
            assert time_of(f"journal {when:%Y-%m-%dT%H:%M:%SZ} x[1]") == f"{when.astimezone():%H:%M:%S}"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("source", ["", "journal 2026-02-30TZ", "TZ", "journal"])
def test_any_other_place_is_shown_as_it_is(source: str) -> None:
    assert time_of(source) == source


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (UnitState("active"), False),
        (UnitState("inactive"), True),
        (UnitState("activating"), True),
        (None, True),
    ],
)
def test_nothing_found_is_told_from_nothing_seen(tmp_path: Path, state: UnitState | None, said: bool) -> None:
    unit = tmp_path / "etc/systemd/system/a.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/root/venv/bin/python3 -m sglang.launch_server\n")
    seen = look("a", tree(str(tmp_path)))
    well = Diagnosis((Finding("healthy", True, "likely", False, "Nothing wrong was found."),))
    missing = (Missing("interpreter", "this user may not look there: run as root"),)
    snapshot = replace(seen.snapshot, state=state, missing=missing)
    text = diagnosis_text(replace(seen, snapshot=snapshot, diagnosis=well))
    assert ("\n\nNot known\n  interpreter  this user may not look there: run as root" in text) == said


@pytest.mark.parametrize(
    ("cause", "nvcc_version", "shown"),
    [
        ("nvcc-too-old", (12, 8), "found  nvcc 12.8: /opt/cuda/bin/nvcc, through CUDA_HOME"),
        # Nothing is found there, and the verdict's own sentence is not said twice.
        ("cuda-home-invalid", None, "takes  /opt/cuda/bin/nvcc, through CUDA_HOME"),
    ],
)
def test_what_is_not_there_is_not_called_found(
    tmp_path: Path, cause: str, nvcc_version: tuple[int, int] | None, shown: str
) -> None:
    unit = tmp_path / "etc/systemd/system/a.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/root/venv/bin/python3 -m sglang.launch_server\n")
    verdict = "FlashInfer takes /opt/cuda"
    root = Finding(cause, True, "likely", True, verdict, (Evidence("fact", verdict, "/a:1"),), ("flashinfer",))
    taken = Resolution("flashinfer", "0.7", "/opt/cuda", "CUDA_HOME", nvcc="/opt/cuda/bin/nvcc")
    seen = replace(
        look("a", tree(str(tmp_path))),
        diagnosis=Diagnosis((root,)),
        resolutions=(replace(taken, nvcc_version=nvcc_version),),
    )
    text = diagnosis_text(seen)
    assert f"Why\n  {shown}\n" in text and text.count(verdict) == 1
