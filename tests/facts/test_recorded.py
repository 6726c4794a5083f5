from __future__ import annotations

import json
from pathlib import Path

import pytest

from remedy.errors import UsageError
from remedy.facts.accounts import Account
from remedy.facts.files import Files
from remedy.facts.packages import STATUS
from remedy.facts.recorded import Recording, RecordingRunner, RecordingView, ReplayRunner, ReplayView
from remedy.facts.run import Result, run
from remedy.facts.snapshot_file import about, dump, load, of_another_remedy
from remedy.road import look, seen_through
from tests.facts.answers import Answers
from tests.facts.test_journal import entry
from tests.memory import MemoryView


def redact(text: str) -> str:
    return text.replace("hf_secret", "[removed]")


def replayed(recording: Recording) -> ReplayView:
    """Through the file and back."""
    return ReplayView(load(dump(recording), "snapshot.json"))


def test_every_answer_comes_back(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/binary").write_bytes(bytes(range(256)))
    (tmp_path / "link").symlink_to("sub/binary")
    recording = Recording({"unit": "a.service"})
    view = RecordingView(Files(), recording, redact)
    base, link, binary = str(tmp_path), f"{tmp_path}/link", f"{tmp_path}/sub/binary"

    assert view.read(binary) == bytes(range(256))
    assert view.read_range(link, 10, 5) == bytes(range(10, 15))
    seen = (view.list(base), view.stat(link), view.lstat(link), view.readlink(link), view.realpath(link))
    assert view.stat(f"{base}/none") is None
    with pytest.raises(IsADirectoryError):
        view.read(base)
    with pytest.raises(FileNotFoundError):
        view.list(f"{base}/none")

    again = replayed(recording)
    assert again.recording.about == {"unit": "a.service"}
    assert again.read(binary) == bytes(range(256))
    assert again.read_range(link, 10, 5) == bytes(range(10, 15))
    assert seen == (again.list(base), again.stat(link), again.lstat(link), again.readlink(link), again.realpath(link))
    assert again.stat(f"{base}/none") is None
    with pytest.raises(IsADirectoryError):
        again.read(base)
    with pytest.raises(FileNotFoundError):
        again.list(f"{base}/none")
    with pytest.raises(OSError, match="longer than 10 bytes"):
        again.read(binary, 10)


def test_what_was_never_asked_is_not_there() -> None:
    view = ReplayView(Recording())
    assert view.stat("/x") is None and view.lstat("/x") is None and view.realpath("/a/../x") == "/x"
    assert view.read_range("/x", 0, 1) == b""
    for call in (view.read, view.list, view.readlink):
        with pytest.raises(FileNotFoundError, match="not in the snapshot"):
            call("/x")
    assert run(ReplayRunner(Recording()), ("true",), timeout=1).why == "not in the snapshot"


def test_secrets_are_in_the_answer_but_not_in_the_record() -> None:
    recording = Recording()
    view = RecordingView(
        MemoryView({"/etc/default/x": "HF_TOKEN=hf_secret\n", "/e": "A=1\0T=hf_secret\0"}), recording, redact
    )
    assert view.read("/etc/default/x") == b"HF_TOKEN=hf_secret\n" and view.read("/e") == b"A=1\0T=hf_secret\0"
    answers: dict[tuple[str, ...], Result] = {
        ("env",): Result(0, b"T=hf_secret\n", b"hf_secret", "hf_secret"),
        ("journalctl",): Result(0, entry(b"several\nhf_secret")),
    }
    runner = RecordingRunner(Answers(answers), recording, redact)
    assert run(runner, ("env",), timeout=1).stdout == b"T=hf_secret\n"
    run(runner, ("journalctl",), timeout=1)
    text = dump(recording)
    assert "hf_secret" not in text
    again = load(text, "x")
    assert ReplayView(again).read("/e") == b"A=1\0T=[removed]\0"
    assert run(ReplayRunner(again), ("journalctl",), timeout=1).stdout == entry(b"several\n[removed]")


def test_runs_of_different_users_are_told_apart() -> None:
    recording = Recording()
    llm = Account("llm", 1001, 1001, "/", (1001,))
    run(RecordingRunner(Answers({("id",): Result(0, b"0")}), recording, redact), ("id",), timeout=1)
    run(RecordingRunner(Answers({("id",): Result(0, b"1001")}), recording, redact), ("id",), timeout=1, user=llm)
    runner = ReplayRunner(load(dump(recording), "x"))
    assert run(runner, ("id",), timeout=1).text == "0" and run(runner, ("id",), timeout=1, user=llm).text == "1001"


def test_bulk_is_left_out() -> None:
    status = "Package: adduser\nStatus: install ok installed\nVersion: 1\n\n" * 1000
    passwd = "llm:x:1001:1001:Full Name,,,:/home/llm:/bin/sh\n"
    header = "x" * 10000 + "\n#define CUDA_VERSION 13000\n"
    recording = Recording()
    view = RecordingView(MemoryView({STATUS: status, "/etc/passwd": passwd, "/c/cuda.h": header}), recording, redact)
    view.read(STATUS), view.read("/etc/passwd"), view.read_range("/c/cuda.h", 0, 65536)
    text = dump(recording)
    assert "adduser" not in text and "Full Name" not in text and "xxxx" not in text and "CUDA_VERSION 13000" in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "snap.json:1: no JSON"),
        ("{\n\n nonsense", "snap.json:3: no JSON"),
        ("[]", '"kind" is not "remedy-snapshot"'),
        ('{"kind": "other"}', '"kind" is not "remedy-snapshot"'),
        ('{"kind": "remedy-snapshot", "schema": 99}', '"schema" is 99'),
        ('{"kind": "remedy-snapshot", "schema": 1}', '"about" is no object'),
        ("[" * 100_000, "no snapshot of remedy's"),
        ("1" * 10_000, "no snapshot of remedy's"),
    ],
)
def test_a_bad_file_is_one_clear_error(text: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        load(text, "snap.json")
    assert said in error.value.message and error.value.hint


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("stat", {"/x": ["file", 1]}),
        ("stat", {"/x": ["door", 0, 0, 0, 0, 0]}),
        ("stat", {"/x": ["file", "0", 0, 0, 0, 0]}),
        ("stat", {"/x": [["file"], 0, 0, 0, 0, 0]}),
        ("list", {"/x": [1]}),
        ("list", {"/x": {"errno": "two"}}),
        ("read", {"/x": 7}),
        ("read", {"/x": "\ud800"}),
        ("read_range", [["/x", 0]]),
        ("read_range", {}),
        ("run", [{"argv": ["x"]}]),
        ("run", ["x"]),
        ("about", {"unit": None}),
    ],
)
def test_a_damaged_section_is_one_clear_error(section: str, value: object) -> None:
    document = json.loads(dump(Recording()))
    document[section] = value
    with pytest.raises(UsageError, match="no snapshot of remedy's"):
        load(json.dumps(document), "snap.json")


@pytest.mark.parametrize(
    ("maker", "said"),
    [
        (None, "(an older one, this is"),
        ("0.0.1", "f.json was made by another remedy (0.0.1, this is"),
        ("0.1.0", None),
    ],
)
def test_a_snapshot_of_another_remedy_is_read_and_told_apart(maker: str | None, said: str | None) -> None:
    recording = load(dump(Recording({"unit": "x"} | ({"remedy": maker} if maker else {}))), "f.json")
    note = of_another_remedy(recording, "f.json", "0.1.0")
    assert (said in note if note else None) if said else note is None


def test_a_user_s_unit_is_found_again_by_somebody_else() -> None:
    unit = "[Service]\nExecStart=/bin/true\n"
    view = MemoryView(
        {
            "/home/llm/.config/systemd/user/x.service": unit,
            "/etc/passwd": "root:x:0:0::/root:/bin/sh\nllm:x:1001:1001::/home/llm:/bin/sh\n",
        }
    )
    recording = Recording({**about("x", None, "0.1.0", user=True), "owner": "1001"})
    runner = RecordingRunner(Answers({}), recording, redact)
    live = look("x", seen_through(RecordingView(view, recording, redact), runner, user=True, owner="1001"))
    again = load(dump(recording), "f.json")
    machine = seen_through(ReplayView(again), ReplayRunner(again), user=True, owner=again.about["owner"])
    assert live.service.fragment == "/home/llm/.config/systemd/user/x.service"
    assert look("x", machine).service == live.service
