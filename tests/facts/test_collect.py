from __future__ import annotations

from dataclasses import replace

import pytest

from remedy.errors import UsageError
from remedy.facts.ask import ask
from remedy.facts.collect import collect, why
from remedy.facts.recorded import Recording, RecordingRunner, RecordingView, ReplayRunner, ReplayView
from remedy.facts.run import NoRunner, Result
from remedy.facts.snapshot_file import dump, load
from remedy.facts.types import Missing
from remedy.unit.types import SYSTEMD, Launch, Service, Variable
from remedy.view import READ_LIMIT, Stat
from tests.facts.answers import Answers
from tests.facts.test_build_record import FLASHINFER
from tests.facts.test_gpus import SMI
from tests.facts.test_host import BANNER, ELF
from tests.facts.test_interpreter import VENV
from tests.facts.test_journal import entry
from tests.facts.test_packages import STATUS_TEXT
from tests.facts.test_toolkits import NVCC_128, apt_toolkit
from tests.memory import MemoryView

ENV = {name: Variable(name, value, SYSTEMD) for name, value in {"PATH": "/usr/local/cuda-12.8/bin:/usr/bin"}.items()}
SERVICE = Service("sglang-k26.service", "loaded", id="sglang-k26.service", environment=ENV, user="root")
LAUNCH = Launch(("/root/venv/bin/python3", "-m", "sglang"), "/root/venv/bin/python3", ENV)


def machine() -> MemoryView:
    files, links, programs = apt_toolkit("12.8", 12080)
    return MemoryView(
        {
            **VENV,
            **files,
            "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\n",
            "/etc/os-release": "ID=debian\n",
            "/lib/x86_64-linux-gnu/libc.so.6": ELF + BANNER,
            "/var/lib/dpkg/status": STATUS_TEXT,
            "/root/.cache/flashinfer/0.6.8.post1/120f/cached_ops/page/build.ninja": FLASHINFER,
        },
        {**links, "/usr/bin/gcc": "gcc-12"},
        [*programs, "/usr/bin/gcc-12"],
    )


def answers(nvcc: Result = Result(0, NVCC_128)) -> Answers:  # noqa: B008
    runner = Answers({})
    ask(machine(), runner, SERVICE.name)
    journal, state, smi = runner.asked
    return Answers(
        {
            state: Result(0, b"ActiveState=failed\n"),
            journal: Result(0, entry(b"FlashInfer requires GPUs with sm75 or higher")),
            smi: Result(0, SMI.encode()),
            ("/usr/local/cuda-12.8/bin/nvcc", "--version"): nvcc,
        }
    )


def test_everything() -> None:
    snapshot = collect(SERVICE, LAUNCH, machine(), answers())
    assert snapshot.missing == ()
    assert snapshot.capabilities == ((12, 0),)
    assert snapshot.driver is not None and snapshot.driver.library == "580.95.05"
    kit = snapshot.toolkit_at("/usr/local/cuda-12.8")
    assert kit is not None and kit.version == (12, 8)
    assert snapshot.interpreter is not None and snapshot.interpreter.torch_cuda == "13.0"
    assert [compiler.version for compiler in snapshot.compilers if compiler.path] == [(12,)]
    assert snapshot.caches[0].entries[0].name == "page"
    assert snapshot.state is not None and snapshot.state.active_state == "failed"
    assert [line.text for line in snapshot.journal] == ["FlashInfer requires GPUs with sm75 or higher"]
    assert snapshot.host.os_id == "debian" and snapshot.host.glibc == (2, 36)
    assert snapshot.installed["cuda-nvcc-12-8"] == "12.8.93-1"
    assert set(snapshot.timings) >= {"gpus", "toolkits", "interpreter", "caches", "journal", "state", "host"}


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        (Result(None, why="no answer within 5 s"), "/usr/local/cuda-12.8/bin/nvcc --version: no answer within 5 s"),
        (Result(0, b"y\n"), "/usr/local/cuda-12.8/bin/nvcc --version names no release"),
        # That is known: no build can run it.
        (Result(-11, why="signal 11 ended it"), None),
    ],
)
def test_an_nvcc_that_does_not_tell_its_release_is_a_missing_fact(answer: Result, missing: str | None) -> None:
    found = collect(SERVICE, LAUNCH, machine(), answers(answer)).missing
    assert found == ((Missing("toolkits", missing),) if missing else ())


def test_a_replay_gives_the_same_facts() -> None:
    recording = Recording()
    view, runner = RecordingView(machine(), recording, str), RecordingRunner(answers(), recording, str)
    live = collect(SERVICE, LAUNCH, view, runner)
    again = load(dump(recording), "x")
    replay = collect(SERVICE, LAUNCH, ReplayView(again), ReplayRunner(again))
    assert replace(replay, timings={}) == replace(live, timings={})


class Broken(MemoryView):
    """A machine on which everything below some folders fails in a way that nobody foresaw."""

    below: tuple[str, ...] = ()

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes:
        if path.startswith(self.below):
            raise RuntimeError("bad sector")
        return super().read(path, limit)

    def stat(self, path: str) -> Stat | None:
        if path.startswith(self.below):
            raise RuntimeError("bad sector")
        return super().stat(path)


@pytest.mark.parametrize(
    ("below", "fact"),
    [
        (("/root/venv",), "interpreter"),
        (("/usr/local/cuda-12.8/targets",), "toolkits"),
        (("/var/lib/dpkg/status",), "packages"),
        (("/root/.cache",), "caches"),
        (("/etc/os-release",), "host"),
        (("/usr/bin/gcc",), "compilers"),
        (("/etc/passwd",), "account"),
    ],
)
def test_a_fact_that_fails_costs_only_itself(below: tuple[str, ...], fact: str) -> None:
    whole = machine()
    broken = Broken(whole.files, whole.links, whole.programs)
    broken.below = below
    snapshot = collect(SERVICE, LAUNCH, broken, answers())
    assert {missing.fact for missing in snapshot.missing} == {fact}
    assert Missing(fact, "RuntimeError: bad sector") in snapshot.missing
    assert snapshot.capabilities == ((12, 0),) and snapshot.journal


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FileNotFoundError(2, "No such file or directory", "/etc/x"), "/etc/x: No such file or directory"),
        (PermissionError("uid 5 leads away"), "PermissionError: uid 5 leads away"),
        (KeyError("gpu"), "KeyError: 'gpu'"),
    ],
)
def test_why_a_fact_is_missing(error: Exception, words: str) -> None:
    assert why(error) == words


def test_nothing_at_all_is_known() -> None:
    snapshot = collect(SERVICE, None, MemoryView(), NoRunner("only read"))
    assert {missing.fact for missing in snapshot.missing} == {"packages", "gpus", "driver", "journal", "state"}
    assert all(missing.why for missing in snapshot.missing)
    assert snapshot.interpreter is None and snapshot.gpus == ()


def test_an_unknown_user() -> None:
    snapshot = collect(replace(SERVICE, user="ghost"), LAUNCH, machine(), answers())
    assert Missing("account", "user ghost is not in /etc/passwd") in snapshot.missing


def test_the_user_s_own_word_on_the_gpu() -> None:
    runner = answers()
    snapshot = collect(SERVICE, LAUNCH, machine(), runner, gpu_arch="9.0")
    assert snapshot.capabilities == ((9, 0),)
    assert not any("nvidia-smi" in argv for argv in runner.asked)
    with pytest.raises(UsageError):
        collect(SERVICE, LAUNCH, machine(), runner, gpu_arch="big")


def test_what_was_asked_early_is_not_asked_again() -> None:
    runner = answers()
    early = ask(machine(), runner, SERVICE.name)
    snapshot = collect(SERVICE, LAUNCH, machine(), runner, asked=early)
    assert snapshot.state is not None and sum(argv[0] == "journalctl" for argv in runner.asked) == 1
    # The name was an alias: the answers are another unit's.
    collect(replace(SERVICE, id="real.service"), LAUNCH, machine(), runner, asked=early)
    assert any(argv[-1] == "real.service" for argv in runner.asked)
    assert sum(argv[0] == "nvidia-smi" for argv in runner.asked) == 1
