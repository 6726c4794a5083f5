"""The ledger: what is on the disk after any cut of its bytes."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from remedy.change import codec
from remedy.change.ledger import SCHEMA, Ledger, folders, line_of, parse
from remedy.change.types import Begin, Done, End, Entry, FileBefore, Intent, Phase
from remedy.errors import RemedyError
from remedy.plan.types import EditFile, Plan, RestartUnit
from remedy.unit.types import FileEdit
from tests.change.disk import fill, small_disk

BEGIN = Begin(SCHEMA, "20261202T013000Z-sglang-k26", "sglang-k26.service", "nvcc-too-old", 1.5)
INTENT = Intent(0, FileBefore("/etc/x", "0", 0o640, 1, 2, 3, 4, (("user.a", b"\xff\0"),), ("/etc/d",)))
ENTRIES: tuple[Entry, ...] = (BEGIN, INTENT, Done(0, "do"), Phase("healthy", "ü\n"), End("healthy", "", ("a", "b")))
PLAN = Plan(
    "sglang-k26.service",
    "nvcc-too-old",
    (EditFile(FileEdit("/etc/x", b"old\xff", b"new", "why")), RestartUnit("sglang-k26.service", True, 630.0)),
    wanted=(("CUDA_HOME", "/usr/local/cuda-13.0"), ("CUDA_PATH", None)),
)


def test_entries_come_back_as_they_were() -> None:
    read = parse(b"".join(map(line_of, ENTRIES)))
    assert read.entries == ENTRIES
    assert not read.torn and read.damaged is None


def test_a_plan_comes_back_as_it_was() -> None:
    assert codec.loads(Plan, codec.dumps(PLAN)) == PLAN


def test_every_cut_of_the_tail_is_seen_and_nothing_is_made_of_it() -> None:
    data = b"".join(map(line_of, ENTRIES))
    ends = [len(b"".join(map(line_of, ENTRIES[:count]))) for count in range(len(ENTRIES) + 1)]
    for cut in range(len(data)):
        read = parse(data[:cut])
        whole = max(count for count, end in enumerate(ends) if end <= cut)
        assert read.entries == ENTRIES[:whole], cut
        assert read.torn == (cut != ends[whole]), cut
        assert read.good == ends[whole] and read.damaged is None


@pytest.mark.parametrize("tail", [b"\0" * 512, b"\0\0\n\0", b"00000010 0123456789abcdef {}\n", b"\n", b"garbage\n" * 3])
def test_a_tail_that_the_disk_made_up_is_torn(tail: bytes) -> None:
    read = parse(line_of(BEGIN) + line_of(INTENT) + tail)
    assert read.entries == (BEGIN, INTENT)
    assert read.torn and read.damaged is None


def test_one_flipped_bit_before_a_good_record_is_damage() -> None:
    data = bytearray(b"".join(map(line_of, ENTRIES)))
    data[len(line_of(BEGIN)) + 40] ^= 1
    read = parse(bytes(data))
    assert read.damaged == 2
    assert read.entries == (BEGIN,)


def test_a_ledger_that_does_not_begin_is_damage() -> None:
    assert parse(line_of(INTENT)).damaged == 1


def test_the_folder_is_private_and_its_name_sorts_by_time(tmp_path: Path) -> None:
    first = Ledger.create(tmp_path / "state", PLAN, now=1796175000.0)
    second = Ledger.create(tmp_path / "state", PLAN, now=1796175000.0)
    assert first.id == "20261202T013000Z-sglang-k26"
    back = Ledger.create(tmp_path / "state", Plan("a.service", "x"), now=86400.0)
    assert [second.id, back.id] == ["20261202T013001Z-sglang-k26", "20261202T013002Z-a"]
    assert folders(tmp_path / "state") == (first.folder, second.folder, back.folder)
    for path in (tmp_path / "state", first.folder.parent, first.folder, first.folder / "backups"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE((first.folder / "plan.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("unit", ["../../x.service", "a/b.service", "a\n.service", "-x.service", "ü@1.service"])
def test_a_unit_name_can_not_lead_out_of_the_folder(tmp_path: Path, unit: str) -> None:
    ledger = Ledger.create(tmp_path, Plan(unit, "x"))
    assert ledger.folder.parent == tmp_path / "transactions"
    assert ledger.id.isascii() and "\n" not in ledger.id


def test_an_opened_ledger_goes_on_where_it_was(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path, PLAN)
    ledger.append(INTENT)
    with open(ledger.folder / "ledger", "ab") as file:
        file.write(line_of(Done(0, "do"))[:-5])
    again = Ledger.open(ledger.folder)
    assert again.plan == PLAN
    assert again.intents() == {0: INTENT.before}
    assert not again.done(0, "do") and again.end is None
    again.append(Done(0, "undo"))
    again.append(End("rolled-back"))
    assert Ledger.open(ledger.folder).end == End("rolled-back")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda data: b"x" + data, "ledger:1"),
        (lambda _: b"", "no transaction was begun"),
        (lambda _: line_of(Begin(99, "a", "b", "c", 0.0)), "schema 99 is newer"),
    ],
)
def test_a_ledger_that_can_not_be_read_is_refused_by_name(tmp_path: Path, spoil: object, words: str) -> None:
    ledger = Ledger.create(tmp_path, PLAN)
    ledger.append(INTENT)
    file = ledger.folder / "ledger"
    assert callable(spoil)
    file.write_bytes(spoil(file.read_bytes()))
    with pytest.raises(RemedyError, match=words):
        Ledger.open(ledger.folder)


def test_a_damaged_plan_is_refused(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path, PLAN)
    (ledger.folder / "plan.json").write_text("{")
    with pytest.raises(RemedyError, match=r"plan\.json"):
        Ledger.open(ledger.folder)


def test_a_full_disk_still_takes_the_records_of_the_way_back(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "size=1m") as disk:
        ledger = Ledger.create(disk, PLAN)
        fill(disk)
        entries = [Phase("rolling-back", "x" * 5000) for _ in range(10)]
        for entry in entries:
            ledger.append(entry)
        assert Ledger.open(ledger.folder).entries[1:] == entries
