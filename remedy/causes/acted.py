"""What somebody did between two starts: the failure before it was acted on, the one after it is that of now.

A transcript shows the shell's prompt between pieces of the journal. A restart alone changes nothing, and in a series of
them the first failure is the root; a command that changes the machine or the unit parts what was from what is.
"""

from __future__ import annotations

from collections.abc import Sequence

from remedy.causes.case import Case
from remedy.causes.entry import Cause, Claim, Weight, any_of
from remedy.hints import Final
from remedy.value import replace

#: Shells' prompts as bash, zsh and fish have them from Debian, Red Hat, Arch and conda; a lone "# " begins a comment.
_PROMPT: Final = (
    r"^(?:\([\w.-]+\) ?)?(?:\[?[\w.-]+@[\w.-]+[^#$%>]{0,60}[#$%>]|\$) (?:.{0,80}(?:&&|;|\|) ?)?"
    r"(?:sudo (?:-\S+ )*)?"
)

#: Commands by which a fault of a start is mended. What only shows something, or starts the service again, is none.
_CHANGED: Final = any_of(
    "install",
    "upgrade",
    "ln -",
    "sed -i",
    "daemon-reload",
    "systemctl edit",
    "update-alternatives --",
    "chown ",
    "chmod ",
    "useradd ",
    "usermod ",
    "rm -",
    "mkdir ",
    "modprobe ",
    pattern=_PROMPT
    + r"(?:(?:apt|apt-get|dnf|yum|zypper|conda|mamba|snap) (?:-\S+ )*(?:install|reinstall|upgrade)\b|pacman -S"
    r"|(?:uv )?(?:\S*/)?pip3? install|\S*/?python3? -m pip install|ln -|sed -i|systemctl (?:daemon-reload|edit)"
    r"|update-alternatives --|chown |chmod |useradd |usermod |rm -|mkdir |modprobe )",
    weak=True,
)

#: A start after it: the manager's word, or the command by which servers are started.
_STARTED: Final = any_of("Started ", "Starting ", pattern=r"^Start(?:ed|ing) \S", weak=True)
_STARTS: Final = any_of(
    "systemctl",
    "vllm serve",
    "launch_server",
    "docker",
    "kubectl",
    pattern=r"[#$%>] .*(?:systemctl (?:--user )?(?:re)?start|vllm serve|launch_server|docker(?: |-)(?:compose .*)?"
    r"(?:up|start|restart|run)\b|kubectl (?:apply|rollout restart))",
    weak=True,
)
SIGNATURES: Final = (*_CHANGED, *_STARTED, *_STARTS)

Made = tuple[Cause, Claim]


def since(case: Case, made: Sequence[Made]) -> list[Made]:
    """The claims, with those aside whose lines all stand before somebody's last change, where something that decides
    stands after it. Where nothing does, the change mended nothing that the log shows."""
    changes = [hit.line.number for hit in case.hits(*_CHANGED)]
    for change in reversed(changes):
        again = _started_after(case, change)
        if again and any(_after(again, cause, claim) for cause, claim in made):
            return [(cause, _past(claim) if 0 < claim.last_line < change else claim) for cause, claim in made]
    return list(made)


def _started_after(case: Case, change: int) -> int:
    """The line of the first start after a change, 0 for none: what a command itself ends with is no start's."""
    by_manager = [hit.line.number for hit in case.hits(*_STARTED) if hit.line.writer.startswith("systemd")]
    by_hand = [hit.line.number for hit in case.hits(*_STARTS)]
    return min((number for number in (*by_manager, *by_hand) if number >= change), default=0)


def _after(change: int, cause: Cause, claim: Claim) -> bool:
    return claim.weight == Weight.DECISIVE and claim.last_line > change and not cause.consequence


def _past(claim: Claim) -> Claim:
    return replace(claim, weight=Weight.ASIDE, certainty="possible")
