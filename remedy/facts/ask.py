"""What programs are asked before anything of a unit is known but its name: they answer while its files are read.

Light to import, and imported first: the sooner a program is started, the less is waited for it.
"""

from __future__ import annotations

from collections.abc import Callable

from remedy.facts.journal import start_journal
from remedy.facts.run import Runner, Running
from remedy.facts.state import bus_environment, start_state
from remedy.hints import TYPE_CHECKING
from remedy.value import dataclass
from remedy.view import View

if TYPE_CHECKING:
    from remedy.facts.types import Gpu

_TIMEOUT = 5.0


@dataclass(frozen=True)
class Asked:
    """The programs that were asked about a unit: the manager, the journal, nvidia-smi; None where they were not.
    ``listed`` are the GPUs in the driver's files, by which nvidia-smi is asked or not."""

    unit: str
    state: Running
    journal: Running | None
    gpus: Running | None
    listed: tuple[Gpu, ...] = ()


def start_manager(runner: Runner, *, user: bool = False) -> Running:
    """Start ``systemctl show-environment``; ``facts.manager`` reads the answer."""
    scope = ("--user",) if user else ()
    argv = ("systemctl", *scope, "show-environment")
    return runner.start(argv, timeout=_TIMEOUT, env=bus_environment(user))


def ask(
    view: View,
    runner: Runner,
    unit: str,
    *,
    user_manager: bool = False,
    gpus_too: bool = True,
    journal_too: bool = True,
    between: Callable[[], None] = lambda: None,
) -> Asked:
    """Start the programs that need no more than a unit's name, with ``between`` done between them: one that starts
    while others occupy the processors keeps us waiting until it has its turn."""
    journal = start_journal(runner, unit, user_manager) if journal_too else None
    between()
    state = start_state(runner, unit, user_manager)
    if not gpus_too:
        return Asked(unit, state, journal, None)
    from remedy.facts.gpus import read_driver_files, start_nvidia_smi

    listed = read_driver_files(view)
    return Asked(unit, state, journal, start_nvidia_smi(listed, runner), listed)
