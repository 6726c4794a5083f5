"""What systemd itself refuses, before the service's program gets to run."""

from __future__ import annotations

from remedy.causes.containers import NO_ENVIRONMENT_FILE, NO_USER
from remedy.causes.entry import Cause, Page, Signature, any_of
from remedy.causes.shared import SHOW
from remedy.causes.supervised import NO_ACCOUNT, NO_DIRECTORY
from remedy.hints import Final

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
            # systemctl of a unit that was never installed; an installer may ask for what is optional
            *any_of(
                ".service not found",
                ".service could not be found",
                ".service does not exist",
                pattern=r"(?P<why>Unit (?:file )?\S+\.service (?:not found|could not be found|does not exist))",
                weak=True,
            ),
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
        advice="Create the file, or write `EnvironmentFile=-/path` if it may be absent: `" + SHOW + "`.",
        signatures=(
            Signature("Failed to load environment files"),
            *NO_ENVIRONMENT_FILE,
            Signature("Failed to open environment file", r"environment file '?(?P<path>[^':]+)"),
            # service_spawn() fails of nothing else before it forks, or of little
            *any_of(
                "'start' task",
                "esult: resources",
                "esult 'resources'",
                pattern=r"[Ff]ailed to (?:run|spawn) 'start' task|\(Result: resources|result 'resources'",
                weak=True,
            ),
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
        advice="Create it (`useradd --system --home-dir /var/lib/NAME NAME`) or correct User=: `" + SHOW + "`.",
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
            Signature("does not exist or the user entry", r"\b(?:su|runuser): user \S+ does not exist"),
            NO_USER,
            *any_of("nvalid user", "nvalid group", pattern=r"\b(?:chown|chgrp|install): invalid (?:user|group):? "),
            Signature("Failed to resolve user", r"Failed to resolve user"),
            # of a command before the main one, from systemd 236 to 240
            Signature("code=exited status=", r"status=21[67]\b", needs="21"),
            *NO_ACCOUNT,
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
        + SHOW
        + "`.||Create it for the service's user, or correct WorkingDirectory=: `"
        + SHOW
        + "`.",
        signatures=(
            Signature("200/CHDIR"),
            Signature("code=exited status=", r"status=200\b", needs="200"),
            Signature("Failed at step CHDIR"),
            Signature("Changing to the requested working directory failed"),
            Signature("WorkingDirectory= path is not absolute"),
            *NO_DIRECTORY,
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
            # supervisord's FATAL is its own limit
            Signature("too many start retries too quickly", weak=True),
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
