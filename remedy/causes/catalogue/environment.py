"""What the unit's environment lines say, and what their author meant."""

from __future__ import annotations

import re

from remedy.causes.case import Case, claim_from
from remedy.causes.containers import NO_ASSIGNMENT
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import NOT_ON_PATH
from remedy.causes.types import Evidence
from remedy.hints import Final

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


def _unit_environment(case: Case) -> Claim | None:
    """systemd's own warnings, unit/'s faults, and values whose ``$`` or ``~`` reached a program unexpanded."""
    faults = tuple(
        Evidence("fact", fault.text, str(fault.place)) for fault in case.faults if fault.kind in _ENVIRONMENT_FAULTS
    )
    warned = case.hits(*_ENVIRONMENT_WARNED)
    literal = case.hits(_LITERAL_VARIABLE, *_LITERAL_HOME)
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
    if case.has(*_UNSET_VARIABLE) and not case.errors:
        return claim_from(case.hits(*_UNSET_VARIABLE), faults + unexpanded, certainty="possible", weight=Weight.NOTED)
    if case.variable("HOME") in ("unset", "") and case.has(_HOME_READ):
        return claim_from(case.hits(_HOME_READ), (case.fact("HOME is not set", "HOME"),), certainty="likely")
    weight = Weight.NOTED if faults or not case.errors else Weight.HINT
    return claim_from((), faults + unexpanded, certainty="possible", weight=weight)


_LITERAL_VARIABLE: Final = Signature(
    "$",
    r"(?:['\"‘: ]|^)(?P<value>\$\{?(?:HOME|USER|PATH|[A-Z][A-Z0-9_]*_HOME|VIRTUAL_ENV|CONDA_PREFIX)\}?[/:][^'\"’\s]*)",
    weak=True,
)
_LITERAL_HOME: Final = any_of(
    "~/",
    # what can't be made of it is the folder of that name, in whatever folder the program is
    "~'",
    pattern=r"(?:No such file|not found|cannot|does not exist).*['\"‘ ](?P<value>~/[^'\"’\s]*)"
    r"|(?P<value2>~/\S+): (?:not found|No such)"
    r"|(?:ermission denied|ead-only file system): '(?P<value3>(?:/[^']*)?~(?:/[^']*)?)'",
    weak=True,
)
# systemd 254 and later, of $NAME in a command; MAINPID is unset behind a program that has ended
_UNSET_VARIABLE: Final = any_of(
    "unset environment variable",
    # docker compose, of what its file takes from the shell's environment
    "variable is not set. Defaulting",
    pattern=r"evaluates to an empty string: (?!MAINPID)(?P<variable>\w+)"
    r"|The \\?\"?(?P<name>\w+)\\?\"? variable is not set\.",
    weak=True,
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
    *NO_ASSIGNMENT,
)
_HOME_READ: Final = Signature("envconfig", r"envconfig\.\w+\(|HOME is not defined", weak=True)


CAUSES: Final = (
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
        signatures=(
            *_ENVIRONMENT_WARNED,
            _LITERAL_VARIABLE,
            *_LITERAL_HOME,
            _HOME_READ,
            *_UNSET_VARIABLE,
            *NOT_ON_PATH,
        ),
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
)
