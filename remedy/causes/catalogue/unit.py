"""What systemd itself refuses, before the service's program gets to run."""

from __future__ import annotations

import re

from remedy.causes.case import Case, claim_from
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.launched import by_launcher
from remedy.causes.shared import BUILD_PROGRAM, NOT_ON_PATH
from remedy.causes.types import Evidence
from remedy.hints import Final

_EXEC_STEP: Final = Signature("Failed at step EXEC spawning", r"spawning (?P<program>\S+?): ")
# systemd 255 and later, and 248 to 254
_EXEC_UNABLE: Final = Signature("Unable to locate executable", r"executable '(?P<program>[^']+)'")
_EXEC_LOCATE: Final = Signature("Failed to locate executable ", r"locate executable (?P<program>\S+?): ")
_EXEC_STATUS: Final = Signature("203/EXEC")
_EXEC_OLD: Final = Signature(": Failed to execute ", r"Failed to execute (?:(?P<program>/\S+?)|command): ")
_EXEC_FORMAT: Final = Signature(
    "xec format error", r"(?:(?P<program>/\S+): )?[Ee]xec format error(?!: ['\"]" + BUILD_PROGRAM + r"['\"])"
)
_INTERPRETER: Final = any_of(
    "bad interpreter",
    "annot execute",
    pattern=r"(?P<program>/\S+): (?:.*bad interpreter|cannot execute: required file not found)",
)
_NO_COMMAND: Final = Signature(
    "not found",
    r"(?:bash|/bin/sh|sh|\.sh|exec|env)\S*: (?:line )?(?:\d+: )*(?:exec:"
    r" )?(?P<program>(?:[\w./-]*/)?(?:python[\d.]*|vllm|sglang|ollama|llama-server|uv|conda|lmdeploy|trtllm-serve"
    r"|text-generation-launcher)): (?:command )?not found",
)
_ENV_NO_PROGRAM: Final = Signature("env: ", r"env: ['‘\"]?(?P<program>[\w./\\-]+)['’\"]?: No such file or directory")
# a script's word for a program by its path
_SCRIPT: Final = Signature(": No such file", r": line \d+: (?P<program>/\S*/bin/[^/\s:]+): No such file")
# Go's words; crun's; uv's
_NOT_RUN: Final = (
    Signature('exec: "', r'exec: "(?P<program>[^"]+)": (?:executable file not|permission denied|stat |no such file)'),
    Signature("not found in $PATH", r"executable file [`'](?P<program>[^`']+)[`'] not found"),
    Signature("ailed to spawn: `", r"spawn: `(?P<program>[^`]+)`"),
)
# dash says "cannot create" of a file to write to
_DASH_DENIED: Final = Signature(": Permission denied", r"\bsh: \d+: (?:exec: )?(?P<program>/\S+): Permission denied")
# A shell's word for a program that it may not run; of a file to write to, its status is another.
_SHELL_DENIED: Final = Signature(
    "ermission denied",
    r"(?:^|/|\s)(?:[bd]a|z|k)?sh: (?:line )?(?:\d+: )*(?P<program>[^\s:]+): [Pp]ermission denied",
    weak=True,
)
_STATUS_126: Final = any_of("status", "code", "exit", pattern=r"(?:status|code)(?:=|:? )126\b", weak=True, needs="126")
_STATUS_127: Final = Signature("status=12", r"code=exited, status=12[67]\b", weak=True)
#: What systemd or the kernel refused by its path, and what was looked for on PATH.
_REFUSED: Final = (_EXEC_STEP, _EXEC_UNABLE, _EXEC_LOCATE, _EXEC_STATUS, _EXEC_OLD, _EXEC_FORMAT, *_INTERPRETER)
_LOOKED_FOR: Final = (
    *(_NO_COMMAND, _ENV_NO_PROGRAM, *_NOT_RUN, _DASH_DENIED, _SCRIPT),
    *by_launcher(r"[\w./+-]+"),
)


def _exec_failed(case: Case) -> Claim | None:
    """A program that is not on a PATH whose ``$`` was taken literally is a symptom of that."""
    refused = case.hits(*_REFUSED)
    sought = tuple(
        hit for hit in case.hits(*_LOOKED_FOR) if not re.fullmatch(BUILD_PROGRAM, hit.groups.get("program", ""))
    )
    sought += tuple(
        hit
        for hit in case.hits(_SHELL_DENIED)
        if case.has(*_STATUS_126)
        or re.fullmatch(r"(?!(?:nvcc|cicc|ptxas|nvlink|fatbinary)$)[\w-]+", hit.groups["program"])
    )
    if refused or sought:
        literal = not refused and "$" in (case.variable("PATH") or "")
        return claim_from(refused + sought, weight=Weight.NOTED if literal else None)
    return claim_from(case.hits(_STATUS_127), certainty="possible", weight=Weight.HINT)


# Only variables that hold paths: a password may hold a dollar sign, and must not be shown.
_PATH_NAMES: Final = r"PATH$|HOME$|DIR$|ROOT$|CACHE$|PREFIX$|^CC$|^CXX$"
_ENVIRONMENT_FAULTS: Final = (
    "environment-literal-variable",
    "environment-tilde",
    "environment-quoting",
    "environment-file-export",
    "environment-file-relative",
    "invalid-assignment",
    "home-specifier",
)
_SHOW: Final = "systemctl cat {unit}"


def _unit_environment(case: Case) -> Claim | None:
    """systemd's own warnings, unit/'s faults, and values whose ``$`` or ``~`` reached a program unexpanded."""
    faults = tuple(
        Evidence("fact", fault.text, str(fault.place)) for fault in case.faults if fault.kind in _ENVIRONMENT_FAULTS
    )
    warned = case.hits(*_ENVIRONMENT_WARNED)
    literal = case.hits(_LITERAL_VARIABLE, _LITERAL_HOME)
    unexpanded = tuple(
        case.fact(f"{name}={value}: systemd does not expand $VAR or ~ in Environment=", name)
        for name, value in sorted(case.facts.env.items())
        if (value.startswith("~/") or ("$" in value and re.search(r"\$\{?[A-Z_]", value)))
        and re.search(_PATH_NAMES, name)
    )
    if literal and (unexpanded or faults or warned or case.facts.unit):
        return claim_from(literal + warned, faults + unexpanded)
    literal_path = tuple(fact for fact in faults + unexpanded if "PATH=" in fact.text)
    if literal_path and case.has(*NOT_ON_PATH):
        return claim_from(case.hits(*NOT_ON_PATH), literal_path, certainty="likely")
    if warned:
        return claim_from(warned, faults)
    if case.has(_UNSET_VARIABLE) and not case.errors:
        return claim_from(case.hits(_UNSET_VARIABLE), faults + unexpanded, certainty="possible", weight=Weight.NOTED)
    if case.variable("HOME") in ("unset", "") and case.has(_HOME_READ):
        return claim_from(case.hits(_HOME_READ), (case.fact("HOME is not set", "HOME"),), certainty="likely")
    weight = Weight.NOTED if faults or not case.errors else Weight.HINT
    return claim_from((), faults + unexpanded, certainty="possible", weight=weight)


_LITERAL_VARIABLE: Final = Signature(
    "$",
    r"(?:['\"‘: ]|^)(?P<value>\$\{?(?:HOME|USER|PATH|[A-Z][A-Z0-9_]*_HOME|VIRTUAL_ENV|CONDA_PREFIX)\}?[/:][^'\"’\s]*)",
    weak=True,
)
_LITERAL_HOME: Final = Signature(
    "~/",
    r"(?:No such file|not found|cannot|does not exist).*['\"‘ ](?P<value>~/[^'\"’\s]*)"
    r"|(?P<value2>~/\S+): (?:not found|No such)",
    weak=True,
)
# systemd 254 and later, of $NAME in a command; MAINPID is unset behind a program that has ended
_UNSET_VARIABLE: Final = Signature(
    "unset environment variable", r"evaluates to an empty string: (?!MAINPID)(?P<variable>\w+)", weak=True
)
_ENVIRONMENT_WARNED: Final = (
    Signature(
        "nvalid environment assignment",
        r"nvalid environment assignment,? ?(?:ignoring: )?'?(?P<assignment>[^']*(?:'[^']*'[^']*)?)",
    ),
    # environment.d(5), which the user's manager and /etc/environment share
    Signature("invalid variable name", r"invalid variable name \"(?P<assignment>[^\"]*)\", ignoring"),
    Signature("EnvironmentFile= path is not absolute"),
    Signature("path is not absolute, ignoring", r"path is not absolute, ignoring: (?P<assignment>.*)"),
    *any_of(
        "Invalid syntax, ignoring: ",
        "Invalid syntax in Env",
        pattern=r"Invalid syntax(?: in Environment=)?, ignoring: (?P<assignment>.*)",
    ),
    Signature("specifiers in ", r"specifiers in '?(?P<assignment>[A-Za-z_]\w*=[^']*?)'?, ignoring"),
    Signature("nvalid environment variable name", r"variable name evaluates to an empty string: (?P<assignment>.*)"),
    Signature("HOME is not defined", r"\$HOME is not defined"),
)
_HOME_READ: Final = Signature("envconfig", r"envconfig\.\w+\(|HOME is not defined", weak=True)

CAUSES: Final = (
    Cause(
        id="unit-invalid",
        title="systemd can't load the unit",
        handling="advise",
        rank=10,
        summary="systemd refuses the unit file: {why}||systemd refuses the unit file, so nothing is started.",
        advice="Read the line that it names: `systemd-analyze verify {unit}`.",
        signatures=(
            Signature("bad unit file setting", r"(?P<unit>[\w@.-]+\.service) has a bad unit file setting"),
            Signature("bad-setting", r"Loaded: bad-setting"),
            Signature("Loaded: error", r"Loaded: error \(Reason: (?P<why>[^)]*)"),
            # systemctl up to systemd 218, and later
            Signature("failed to load: ", r"Unit (?P<unit>\S+) failed to load: (?!No such file)(?P<why>[^.]*)"),
            Signature("loaded properly", r"(?P<why>(?:is not|failed to be) loaded properly.*)"),
            Signature("failed to load properly", r"Unit (?P<unit>\S+) (?P<why>failed to load properly)"),
            # service_verify() of 208 to 258; the name stands in front without "Service" up to 236, and a mail program
            # may have broken the line
            Signature(
                "Refusing.",
                r"(?:\bService|\.service:?) (?P<why>(?:has|lacks|is of type|needs) .+?)\.? ?Refusing\."
                r"|Exec(?:Start|Stop)= settings?\. Refusing\."
                # unit_verify_contexts() of 240 and later
                r"|\.service: (?P<verified>(?:\w+=|Unit has ).+?)\.? ?Refusing\.",
            ),
            # config_parse_exec() of 239 to 245; of a command that may fail it says that it ignores it
            Signature("not found in path", r"(?P<why>Executable \"[^\"]+\" not found in path (?!.*\", ignoring).*)"),
            *any_of(
                "xecutable name contains special",
                "xecutable path specifies a directory",
                "Empty path in command line",
                "Empty executable name",
                pattern=r"(?P<why>(?:Executable (?:name|path)|Empty) (?!.*, ignoring:).*)",
            ),
            Signature(
                "either a valid executable name nor an absolute path",
                r"(?P<why>\S*[Nn]either a valid (?!.*, ignoring:).*)",
            ),
            Signature("xecutable path is not absolute", r"(?P<why>[Ee]xecutable path is not absolute.*)"),
            # of ExecStart=; of a variable's value it says that it ignores it
            Signature("specifiers in '", r"(?P<why>Failed to resolve unit specifiers in '/(?!.*ignoring).*)"),
            Signature("Assignment outside of section", r"(?P<why>Assignment outside of section)"),
            Signature("Invalid section header", r"(?P<why>Invalid section header.*)"),
            Signature("Failed to load configuration: ", r"(?P<why>Failed to load configuration: .*)"),
            Signature("Missing '='", r"(?P<why>Missing '=')"),
            Signature("is masked", r"Unit (?:file )?(?P<unit>\S+\.service) is (?P<why>masked)"),
            # the command is dropped; if it was not ExecStart=, the unit starts without it
            Signature("Unbalanced quoting, ignoring: ", r"(?P<why>Unbalanced quoting, ignoring: .*)", weak=True),
            Signature("Unit configuration has fatal error", r"(?P<why>Unit configuration has fatal error)"),
        ),
        load_states=("bad-setting", "error", "masked"),
        faults=("bad-setting", "unreadable"),
        page=Page(
            meaning="The service manager read the unit file and could not make a runnable service of it. No process "
            "was started, so the service's own log holds nothing about this start.",
            origin="A line is misspelt, stands outside a section, ExecStart= is missing, given twice in a service that "
            "is not Type=oneshot, or names a program by a relative path; or the unit is masked, that is, its name is a "
            "link to /dev/null. An edit that was saved half is the usual origin.",
            recognised="PID 1 says so in its own journal lines about the unit (`bad unit file setting`, `lacks both "
            "ExecStart= and ExecStop=`), and `systemctl status` shows `Loaded: bad-setting` or `masked`.",
            mending="`systemd-analyze verify UNIT` names file and line. Correct the line, then `systemctl "
            "daemon-reload`. A masked unit is freed with `systemctl unmask UNIT`, once you know why it was masked.",
            avoid="Don't look for the fault in the service's program or its CUDA toolkit: neither was reached.",
            sources=("systemd.unit(5)", "systemd.service(5), ExecStart=", "systemd-analyze(1), verify"),
        ),
    ),
    Cause(
        id="environment-file-missing",
        title="an EnvironmentFile= is not there",
        handling="advise",
        rank=11,
        summary="A file named in EnvironmentFile= does not exist, so systemd starts nothing.",
        advice="Create the file, or write `EnvironmentFile=-/path` if it may be absent: `" + _SHOW + "`.",
        signatures=(
            Signature("Failed to load environment files"),
            Signature("Failed to open environment file", r"environment file '?(?P<path>[^':]+)"),
        ),
        faults=("environment-file-missing", "environment-file-unreadable"),
        results=("resources",),
        page=Page(
            meaning="EnvironmentFile= names a file that must be read before the program starts, and it is not there or "
            "can't be read. systemd gives up at once; the result is called `resources`.",
            origin="The file was never deployed, lies on a file system that is mounted later, or was removed with a "
            "package. A `-` before the path would have made it optional.",
            recognised="`Failed to load environment files` from PID 1, then `Failed to run 'start' task` and `Failed "
            "with result 'resources'`; or the unit names a file that this machine doesn't have.",
            mending="Put the file where the unit expects it. Where its absence is fine, prefix the path with `-`. "
            "Where it lies on another file system, add RequiresMountsFor= with its path.",
            avoid="Don't make it optional blindly: a service that starts without its CUDA_HOME or token fails later "
            "and less clearly.",
            sources=("systemd.exec(5), EnvironmentFile=",),
        ),
    ),
    Cause(
        id="user-unknown",
        title="the unit's user or group does not exist",
        handling="advise",
        rank=12,
        summary="User= or Group= names an account that this machine doesn't know.",
        advice="Create it (`useradd --system --home-dir /var/lib/NAME NAME`) or correct User=: `" + _SHOW + "`.",
        signatures=(
            Signature("217/USER"),
            Signature("216/GROUP"),
            Signature("Failed at step USER"),
            Signature("Failed at step GROUP"),
            Signature("Failed to determine user credentials"),
            Signature("ailed to determine credentials for"),
            Signature("Failed to determine group credentials"),
            Signature("Failed to determine supplementary groups"),
            Signature("specified name already exists", r"User or group with specified name already exists"),
            # sudo, su, coreutils
            Signature("unknown user ", r"\bsudo: unknown user "),
            Signature("does not exist or the user entry", r"\bsu: user \S+ does not exist"),
            Signature("nvalid user: ", r"\b(?:chown|install): invalid user: "),
            Signature("Failed to resolve user", r"Failed to resolve user"),
        ),
        statuses=(216, 217),
        faults=("user-unknown",),
        page=Page(
            meaning="systemd changes to the unit's User= and Group= before it runs the program. The account could not "
            "be found, so the program was not run.",
            origin="The account was never created on this machine, is misspelt, or comes from a directory service that "
            "is not up yet when the unit starts.",
            recognised="Exit status 217/USER or 216/GROUP, and the line `Failed at step USER`. The text `No such "
            "process` behind it is only how the C library words an unknown account.",
            mending="Create the account or correct the name. For accounts from LDAP or SSSD order the unit with "
            "After=nss-user-lookup.target. DynamicUser=yes needs no account at all.",
            sources=("systemd.exec(5), User= and the table of exit codes",),
        ),
    ),
    Cause(
        id="working-directory-missing",
        title="the unit's WorkingDirectory= is not there",
        handling="advise",
        rank=13,
        summary="WorkingDirectory= can't be entered: it doesn't exist, or the service's user may not.",
        advice="Create it (`install -d -o {user} {directory}`), or correct WorkingDirectory=: `"
        + _SHOW
        + "`.||Create it for the service's user, or correct WorkingDirectory=: `"
        + _SHOW
        + "`.",
        signatures=(
            Signature("200/CHDIR"),
            Signature("Failed at step CHDIR"),
            Signature("Changing to the requested working directory failed"),
            Signature("WorkingDirectory= path is not absolute"),
        ),
        statuses=(200,),
        absences=("directory-absent",),
        page=Page(
            meaning="systemd could not change into WorkingDirectory=, and ran nothing.",
            origin="The directory was moved or removed, is on a file system that isn't mounted, or lies below a home "
            "directory that the service's user may not enter. `~` alone is allowed; `~/sub` and `$HOME` are not.",
            recognised="Exit status 200/CHDIR and the line `Changing to the requested working directory failed`.",
            mending="Create the directory and give it to the service's user, or correct the path. A leading `-` lets "
            "the unit start without it.",
            sources=("systemd.exec(5), WorkingDirectory=",),
        ),
    ),
    Cause(
        id="exec-failed",
        title="the program of ExecStart= can't be run",
        handling="advise",
        rank=14,
        summary="`{program}` can't be run: it is missing, not executable, or its interpreter is.||The program of "
        "ExecStart= can't be run: it is missing, not executable, or its interpreter is.",
        advice="Look at it as the service's user would: `ls -l {program}; head -1 {program}`.||Look at the program: "
        "`" + _SHOW + "`, then `ls -l` and `head -1` of its path.",
        judge=_exec_failed,
        signatures=(*_REFUSED, *_LOOKED_FOR, _SHELL_DENIED, *_STATUS_126, _STATUS_127),
        statuses=(203,),
        absences=("program-absent",),
        page=Page(
            meaning="systemd forked, set everything up, and the kernel refused to execute the program (203/EXEC); or a "
            "shell in ExecStart= reports that it can't find it (status 127, or 126 for one that is not executable).",
            origin="The path is wrong, a virtual environment was rebuilt elsewhere, the file lost its execute bit or "
            "lies on a noexec mount, a console script's first line names a Python that is gone, or the program is for "
            "another architecture (`Exec format error`). Shells that work use a PATH which the unit doesn't have.",
            recognised="`Failed at step EXEC spawning PATH`, `Unable to locate executable`, 203/EXEC. The step's line "
            "decides; a bare 127 comes from the program itself and can mean a missing library as well.",
            mending="Write the absolute path of the program in the right environment, e.g. the venv's own "
            "`bin/python -m sglang.launch_server`. Reinstall a console script whose interpreter has moved.",
            avoid="`Permission denied` here is no reason to run the service as root; it is a missing execute bit, a "
            "noexec mount, or a directory above that the user can't enter.",
            sources=("systemd.exec(5), process exit codes", "systemd.service(5), command lines"),
        ),
    ),
    Cause(
        id="unit-environment",
        title="the unit's environment lines don't say what was meant",
        handling="mend",
        mend="unit-text",
        rank=15,
        summary="systemd does not read the unit's environment lines as they were meant: {assignment}||systemd does not "
        "read the unit's environment lines as they were meant.",
        advice="Compare what was written with what is set: `remedy show {unit}`.",
        judge=_unit_environment,
        signatures=(*_ENVIRONMENT_WARNED, _LITERAL_VARIABLE, _LITERAL_HOME, _HOME_READ, _UNSET_VARIABLE, *NOT_ON_PATH),
        page=Page(
            meaning="A variable reaches the program with another value than its author meant, or not at all.",
            origin="Environment= and EnvironmentFile= look like shell and are not. `$VAR` and `~` are taken literally; "
            "`export` in a file makes the line invalid; a value with blanks must be quoted as a whole, "
            '`"NAME=a b"`, not `NAME="a"b`; a relative EnvironmentFile= path is ignored; a later file overrides an '
            "earlier line, and any EnvironmentFile= overrides every Environment=. A system service has no login: HOME "
            "is set only with User=, and nothing reads .bashrc.",
            recognised="PID 1 warns when it loads the unit (`Invalid environment assignment, ignoring`), not when it "
            "starts it, so the lines stand in its own journal at the time of the last daemon-reload. remedy also reads "
            "the unit's text, and the values that the program really got.",
            mending="remedy rewrites the line: absolute paths in place of `$HOME` and `~`, systemd's quoting, no "
            "`export`. Specifiers work where variables don't: `%h` is the home of the *manager's* user, so in a "
            "system unit it is /root whatever User= says.",
            avoid="Don't wrap ExecStart= in `bash -lc` to get a login environment: the unit then depends on files that "
            "anyone edits.",
            sources=("systemd.exec(5), Environment= and EnvironmentFile=", "systemd.unit(5), specifiers"),
        ),
    ),
    Cause(
        id="start-limit-hit",
        title="earlier failures used up the starts",
        handling="advise",
        rank=980,
        summary="systemd refuses another start because the ones before failed too quickly; this is a consequence only.",
        advice="Mend what made the first start fail, then `systemctl reset-failed {unit} && systemctl start {unit}`.",
        consequence=True,
        signatures=(
            Signature("Start request repeated too quickly"),
            Signature("start request repeated too quickly"),
            Signature("start-limit-hit"),
            # systemctl
            Signature("start of the service was attempted too often"),
        ),
        results=("start-limit-hit",),
        page=Page(
            meaning="The unit was started more often than StartLimitBurst= allows within StartLimitIntervalSec=. From "
            "then on systemd doesn't even try.",
            origin="With Restart= a service that dies within seconds uses up its starts in less than a minute. The "
            "last lines of the journal are then about the limit, and the cause stands many lines up.",
            recognised="`Start request repeated too quickly` or the result `start-limit-hit`. remedy never takes it "
            "for the root while any earlier line says more.",
            mending="`remedy fix` clears the counter (`systemctl reset-failed`) as part of the restart, after the root "
            "is mended.",
            avoid="Raising the limit or setting it to 0 turns a failing service into one that fails for ever and fills "
            "the journal.",
            sources=("systemd.unit(5), StartLimitIntervalSec=",),
        ),
    ),
)
