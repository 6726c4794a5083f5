"""The commands and their options, as people type them. What they do is in the modules beside this one."""

from __future__ import annotations

import sys
from enum import Enum
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from remedy.errors import Exit

app = typer.Typer(
    name="remedy",
    help="Diagnose and repair the CUDA toolchain of inference services that run from systemd units.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  remedy diagnose sglang-k26        what is wrong, and why
  remedy fix sglang-k26 --dry-run   what would be done about it
  remedy fix sglang-k26             do it; where the start fails, all is undone

A service is named as systemctl takes it. The manual: man remedy.""",
)


class Command(TyperCommand):
    """A command whose usage line names its operands as manual pages do, without braces."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words behind the command's name."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


command = partial(app.command, cls=Command)


def _services(incomplete: str) -> list[str]:
    from remedy.cli.complete import services

    return services(incomplete)


def _causes(incomplete: str) -> list[str]:
    from remedy.cli.complete import causes

    return causes(incomplete)


UnitArgument = Annotated[
    str, typer.Argument(metavar="UNIT", help="A service, as systemctl takes it.", autocompletion=_services)
]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout, and nothing else there.")]
User = Annotated[bool, typer.Option("--user", help="The user manager's unit, not the system's.")]
Root = Annotated[str | None, typer.Option("--root", metavar="DIR", help="Read the tree under DIR instead.")]
GpuArch = Annotated[
    str | None,
    typer.Option("--gpu-arch", metavar="X.Y", help="Take this compute capability instead of asking the GPUs."),
]


StartTimeout = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SEC", min=1, help="Seconds the start may take (default: from earlier starts)."),
]
KeepPackages = Annotated[
    bool, typer.Option("--keep-packages", help="Leave installed packages in place when rolling back.")
]


class EditChoice(str, Enum):
    """Where ``fix`` writes: the line that wins, or a drop-in beside it."""

    in_place = "in-place"
    drop_in = "drop-in"


Edit = Annotated[EditChoice | None, typer.Option("--edit", help="Edit the line that wins, or write a drop-in.")]


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
    host: Annotated[
        str | None,
        typer.Option("--host", metavar="USER@MACHINE", help="Run it there, over ssh; only Python has to be there."),
    ] = None,
) -> None:
    # A command line with --host is not read here: ``run`` sends it on. What is left is one without a command.
    if host is not None:
        raise typer.BadParameter("which command is to be run there?", param_hint="--host")
    if version:
        from remedy import __version__

        print(f"remedy {__version__}")
        raise typer.Exit()


@command(short_help="Say what is wrong with a service, and why.")
def diagnose(
    unit: UnitArgument,
    json: Json = False,
    root: Root = None,
    snapshot: Annotated[
        str | None,
        typer.Option("--snapshot", metavar="FILE", help="Facts that `remedy snapshot` wrote, instead of this machine."),
    ] = None,
    gpu_arch: GpuArch = None,
    user: User = False,
    report: Annotated[
        bool, typer.Option("--report", help="Put the verdict into the journal as well, for `remedy history`.")
    ] = False,
) -> int:
    """Say what is wrong with a service, why, and where each value comes from. Changes nothing; any user.

    Exit code 0: healthy; 3: a problem that fix can mend; 4: one that it can't, with advice.

    \b
    Examples:
      remedy diagnose sglang-k26
      remedy diagnose sglang-k26 --json
      remedy --host root@gpu-01 diagnose sglang-k26
    """
    from remedy.cli.diagnose import diagnose as command

    return command(unit, json=json, root=root, snapshot=snapshot, gpu_arch=gpu_arch, user=user, report=report)


@command(short_help="Plan, prove, apply and watch a repair.")
def fix(
    unit: UnitArgument,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="End after the plan; needs no root.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before the change.")] = False,
    json: Json = False,
    timeout: StartTimeout = None,
    edit: Edit = None,
    no_prove: Annotated[bool, typer.Option("--no-prove", help="Restart without the proof.")] = False,
    no_prewarm: Annotated[bool, typer.Option("--no-prewarm", help="Build no kernels ahead of the restart.")] = False,
    keep_packages: KeepPackages = False,
    restart: Annotated[bool, typer.Option("--restart", help="Restart also a service that runs well now.")] = False,
    gpu_arch: GpuArch = None,
    user: User = False,
) -> int:
    """Diagnose, show the plan, ask, prove, apply, restart, watch; keep the change or roll it back.

    A service that runs well now, and would not start again, is changed only where you say so: to the question at a
    terminal, or with --restart.

    Exit code 0: healthy or nothing to do; 3: changes are pending (--dry-run); 4: no mend is known;
    5: failed and rolled back; 6: the rollback is incomplete; 7: refused, nothing was touched.

    \b
    Examples:
      remedy fix sglang-k26 --dry-run
      remedy fix sglang-k26
      remedy fix sglang-k26 --yes --json
      remedy --host root@gpu-01 fix sglang-k26
    """
    from remedy.cli.fix import fix as command
    from remedy.repair import Wishes

    wishes = Wishes(
        timeout=timeout,
        edit=edit.value if edit else None,
        prove=not no_prove,
        prewarm=not no_prewarm,
        keep_packages=keep_packages,
        gpu_arch=gpu_arch,
        user=user,
        restart=restart,
    )
    return command(unit, wishes, dry_run=dry_run, yes=yes, json=json)


@command(short_help="Show units as systemd runs them.")
def show(
    units: Annotated[
        list[str], typer.Argument(metavar="UNIT...", help="One or more services.", autocompletion=_services)
    ],
    json: Json = False,
    root: Root = None,
    systemd: Annotated[
        int | None,
        typer.Option("--systemd", metavar="VERSION", min=200, help="The rules of this systemd version."),
    ] = None,
    show_secrets: Annotated[bool, typer.Option("--show-secrets", help="Print values of secrets as well.")] = False,
    user: User = False,
) -> int:
    """Show units as systemd runs them: files, argv, user, and the whole start environment with file:line.

    \b
    Examples:
      remedy show sglang-k26
      remedy show --root /mnt/image sglang-k26 --json
    """
    from remedy.cli.show import show as command

    return command(units, json=json, root=root, systemd=systemd, show_secrets=show_secrets, user=user)


@command(short_help="Explain a cause, or the causes in a log.")
def explain(
    cause: Annotated[
        str | None,
        typer.Argument(
            metavar="[CAUSE|-]",
            help="A cause id, or - for a log on standard input. Default: list the causes.",
            autocompletion=_causes,
        ),
    ] = None,
    facts: Annotated[
        str | None,
        typer.Option("--facts", metavar="FILE", help="With -: what is known beside the log, as JSON."),
    ] = None,
    json: Json = False,
) -> int:
    """Explain a cause in full, or find the causes in a log; list all causes that there are.

    \b
    Examples:
      remedy explain
      remedy explain nvcc-too-old
      journalctl -u sglang-k26 | remedy explain -
    """
    from remedy.cli.explain import explain as command

    return command(cause, facts=facts, json=json)


@command(short_help="Preflight for ExecStartPre= or a script.")
def check(unit: UnitArgument, gpu_arch: GpuArch = None, user: User = False) -> int:
    """A preflight for ExecStartPre= or a deploy script: one line of reason, exit code 0 or 3. Needs no root.

    \b
    Examples:
      remedy check sglang-k26 && systemctl restart sglang-k26
      ExecStartPre=remedy check %n
    """
    from remedy.cli.diagnose import check as command

    return command(unit, gpu_arch=gpu_arch, user=user)


@command(short_help="Follow a start to a verdict.")
def watch(
    unit: UnitArgument,
    json: Json = False,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="SEC", min=1, help="Seconds to wait for a verdict."),
    ] = None,
    user: User = False,
) -> int:
    """Follow a start to a verdict, changing nothing. Exit code 0: healthy; 3: failed; 4: undecided.

    \b
    Example:
      systemctl restart --no-block sglang-k26; remedy watch sglang-k26
    """
    from remedy.cli.watch import watch as command

    return command(unit, json=json, timeout=timeout, user=user)


@command(short_help="List the changes that were made.")
def history(
    transaction: Annotated[str | None, typer.Argument(metavar="[ID]", help="One change, in full.")] = None,
    json: Json = False,
) -> int:
    """List what was done to this machine, and what failed units were found to have; or one change in full.

    \b
    Examples:
      remedy history
      remedy history 20261202T043851Z-sglang-k26
    """
    from remedy.cli.history import history as command

    return command(transaction, json=json)


@command(short_help="Undo a change that was kept.")
def rollback(
    transaction: Annotated[str | None, typer.Argument(metavar="[ID]", help="Default: the newest kept change.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> int:
    """Undo a change that was kept: files, packages, caches and run state as they were before it.

    \b
    Examples:
      remedy rollback
      remedy rollback 20261202T043851Z-sglang-k26 --yes
    """
    from remedy.cli.transactions import rollback as command

    return command(transaction, yes=yes, json=json)


@command(short_help="Finish or undo what a crash left.")
def recover(json: Json = False) -> int:
    """Finish or undo what a crash left half done. A unit runs it at boot.

    \b
    Example:
      remedy recover
    """
    from remedy.cli.transactions import recover as command

    return command(json=json)


@command(short_help="Write the facts to diagnose elsewhere.")
def snapshot(unit: UnitArgument, gpu_arch: GpuArch = None, user: User = False) -> int:
    """Write the facts about a service as JSON, secrets removed, to send or to diagnose elsewhere.

    \b
    Examples:
      remedy snapshot sglang-k26 > facts.json
      remedy diagnose sglang-k26 --snapshot facts.json
    """
    from remedy.cli.diagnose import snapshot as command

    return command(unit, gpu_arch=gpu_arch, user=user)


@command(short_help="List the CUDA toolkits of this machine.")
def toolkits(json: Json = False) -> int:
    """List the CUDA toolkits of this machine: version, completeness, and the services that use each.

    \b
    Example:
      remedy toolkits --json
    """
    from remedy.cli.toolkits import toolkits as command

    return command(json=json)


def on_host(arguments: list[str]) -> tuple[str | None, list[str]]:
    """The host that ``--host`` names, wherever it stands before ``--``, and the command line without it."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    for at, word in enumerate(arguments[:end]):
        if word.startswith("--host="):
            return word.removeprefix("--host="), arguments[:at] + arguments[at + 1 :]
        if word == "--host" and at + 1 < end:
            return arguments[at + 1], arguments[:at] + arguments[at + 2 :]
    return None, arguments


def run(arguments: list[str]) -> int:
    """Run one command line; returns its exit code."""
    host, there = on_host(arguments)
    if host is not None and there:
        from remedy.remote import run as run_there

        return run_there(host, there)
    try:
        result = app(arguments, standalone_mode=False, prog_name="remedy")
    except typer.Abort:
        return Exit.INTERRUPTED
    except Exception as error:
        show_usage = getattr(error, "show", None)
        if show_usage is None:
            raise
        show_usage(file=sys.stderr)
        return Exit.USAGE
    return result if isinstance(result, int) else Exit.DONE
