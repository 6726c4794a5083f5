"""Puts the lines of a unit's files together, in the order in which systemd reads them.

config_parse() of src/shared/conf-parser.c and the parsers of src/core/load-fragment.c, for the settings that decide
what is run, as whom, where and with which environment. Every other line is kept as a Setting.
"""

from __future__ import annotations

from collections.abc import Callable

from remedy.unit import accounts, commands
from remedy.unit.document import BLANKS, Document, Entry
from remedy.unit.paths import PATH_MAX, clean_absolute, simplify
from remedy.unit.specifiers import BadSpecifier, Subject
from remedy.unit.types import EnvironmentFile, ExecCommand, Fault, LoadState, Place, Setting
from remedy.unit.values import BOOLEANS, is_assignment, is_name
from remedy.unit.words import BadSyntax, is_utf8, next_word, split_colons
from remedy.value import dataclass, field

#: The longest line, continuations joined, in bytes: LONG_LINE_MAX.
LINE_MAX = 1024 * 1024
SECTIONS = ("Unit", "Service", "Install")


class Unloadable(Exception):
    """A line that ends the reading of its file. In the fragment it decides the load state."""

    def __init__(self, state: LoadState, fault: Fault) -> None:
        super().__init__(fault.text)
        self.state: LoadState = state
        self.fault = fault


@dataclass(frozen=True)
class Word:
    """A word of a list setting and the line that it begins on."""

    text: str
    place: Place


@dataclass
class Assembly:
    """What has been read so far. Lists are reset by an empty assignment, as systemd does."""

    settings: list[Setting] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    environment: list[Word] = field(default_factory=list)
    environment_files: list[EnvironmentFile] = field(default_factory=list)
    passed: list[Word] = field(default_factory=list)
    unset: list[Word] = field(default_factory=list)
    search_path: list[Word] = field(default_factory=list)
    commands: dict[str, list[ExecCommand]] = field(default_factory=dict)
    user: Word | None = None
    group: Word | None = None
    working_directory: Word | None = None
    working_directory_optional: bool = False
    pid_file: Word | None = None

    def read(self, path: str, document: Document, subject: Subject) -> None:
        """Take in a file. Raises Unloadable at a line that ends it; what came before stays."""
        long = next((number for number, line in enumerate(document.lines, 1) if len(line.text) > LINE_MAX), None)
        for entry in document.entries:
            if long is not None and entry.last >= long:
                break
            if entry.kind == "blank":
                continue
            if not is_utf8(entry.text):
                raise Unloadable("error", _fault("syntax", "the line is not valid UTF-8", path, entry))
            if len(entry.text) > LINE_MAX:
                raise Unloadable("error", _fault("syntax", "the continued line is longer than 1 MiB", path, entry))
            if entry.kind == "assignment":
                self._assign(_Line(path, entry, subject, self))
            else:
                _judge(path, entry, subject.manager.version, self.faults)
        if long is not None:
            raise Unloadable("error", Fault("syntax", "the line is longer than 1 MiB", Place(path, long)))

    def _assign(self, line: _Line) -> None:
        section, name = line.entry.section, line.entry.name
        if section is None:
            line.fault("syntax", f"{name}= stands before the first section: ignored", "move it below a [Section]")
            return
        if section not in SECTIONS and not section.startswith("X-"):
            return
        self.settings.append(Setting(section, name, line.value, line.place(), line.entry.last))
        parse = _PARSERS.get((section, name))
        if parse is not None:
            parse(self, line)


@dataclass(frozen=True)
class _Line:
    """An assignment with what its parser needs."""

    path: str
    entry: Entry
    subject: Subject
    assembly: Assembly

    @property
    def value(self) -> str:
        return self.entry.value

    def place(self, offset: int | None = None) -> Place:
        """Where the assignment stands, or the physical line of an offset in its value."""
        if self.entry.first == self.entry.last:
            return Place(self.path, self.entry.first)
        text = self.entry.text
        at = len(text) - len(text.lstrip(BLANKS)) if offset is None else self.entry.value_start + offset
        return Place(self.path, self.entry.locate(at)[0])

    def fault(self, kind: str, text: str, mend: str = "", place: Place | None = None) -> None:
        self.assembly.faults.append(Fault(kind, text, place or self.place(), mend))

    def refuse(self, why: str) -> Unloadable:
        return Unloadable("bad-setting", Fault("bad-setting", f"{self.entry.name}=: {why}", self.place()))

    def expand(self, text: str, limit: int = LINE_MAX) -> str:
        """Specifiers replaced. Raises BadSpecifier, also where the result is too long."""
        done = self.subject.expand(text)
        if len(done) > limit:
            raise BadSpecifier("the value is too long once its specifiers are replaced")
        return done

    def words(self, *, escapes: bool) -> list[Word]:
        """The words of a list with specifiers replaced; bad ones and what follows a broken quote are faults."""
        found: list[Word] = []
        text = self.value
        position = 0
        while True:
            try:
                word, start, position = next_word(text, position, escapes=escapes)
            except BadSyntax as bad:
                mend = "close the quote, and write a literal backslash as \\\\"
                self.fault("environment-quoting", f"{self.entry.name}=: {bad}: the rest is ignored", mend)
                return found
            if word is None:
                return found
            place = self.place(start)
            try:
                found.append(Word(self.expand(word), place))
            except BadSpecifier as bad:
                self.fault("bad-specifier", f"{self.entry.name}=: {bad}: {word} is ignored", "write % as %%", place)


def _judge(path: str, entry: Entry, version: int, faults: list[Fault]) -> None:
    """A line that is no assignment: a section header or a slip."""
    if entry.kind == "bad-section":
        raise Unloadable("error", _fault("syntax", f"the section header is broken: {entry.text.strip()}", path, entry))
    if entry.kind == "section":
        section = entry.section or ""
        if version >= 250 and any(char < " " or char in "\"'\\\x7f" for char in section):
            raise Unloadable("error", _fault("syntax", f"the section's name is not allowed: [{section}]", path, entry))
        if section not in SECTIONS and not section.startswith("X-"):
            faults.append(_fault("syntax", f"the section [{section}] is unknown: ignored", path, entry))
    elif entry.section is None or entry.section in SECTIONS:
        faults.append(_fault("syntax", f"not of the form Name=value, ignored: {entry.text.strip()}", path, entry))


def _fault(kind: str, text: str, path: str, entry: Entry) -> Fault:
    return Fault(kind, text, Place(path, entry.first))


def _environment(assembly: Assembly, line: _Line) -> None:
    if not line.value:
        assembly.environment.clear()
        return
    for word in line.words(escapes=True):
        if is_assignment(word.text):
            assembly.environment.append(word)
        else:
            mend = 'write NAME=value; a value with blanks needs quotes around the whole: "NAME=some value"'
            line.fault("invalid-assignment", f"not an assignment, ignored: {word.text}", mend, word.place)


def _environment_file(assembly: Assembly, line: _Line) -> None:
    if not line.value:
        assembly.environment_files.clear()
        return
    try:
        text = line.expand(line.value, PATH_MAX - 1)
        optional = text.startswith("-")
        path = clean_absolute(text[1:] if optional else text, line.subject.manager.version)
    except ValueError as bad:
        kind = "bad-specifier" if isinstance(bad, BadSpecifier) else "environment-file-relative"
        line.fault(kind, f"EnvironmentFile= is ignored: {bad}", "name the file by its absolute path")
        return
    assembly.environment_files.append(EnvironmentFile(path, optional, line.place()))


def _pass_environment(assembly: Assembly, line: _Line) -> None:
    if not line.value:
        assembly.passed.clear()
    for word in line.words(escapes=False):
        if is_name(word.text):
            assembly.passed.append(word)
        else:
            line.fault("invalid-assignment", f"not the name of a variable, ignored: {word.text}", "", word.place)


def _unset_environment(assembly: Assembly, line: _Line) -> None:
    if not line.value:
        assembly.unset.clear()
    for word in line.words(escapes=True):
        if is_name(word.text) or is_assignment(word.text):
            assembly.unset.append(word)
        else:
            line.fault("invalid-assignment", f"neither a name nor an assignment, ignored: {word.text}", "", word.place)


def _exec_search_path(assembly: Assembly, line: _Line) -> None:
    if line.subject.manager.version < 250:
        return
    if not line.value:
        assembly.search_path.clear()
        return
    try:
        for part in split_colons(line.value):
            path = clean_absolute(line.expand(part, PATH_MAX - 1), line.subject.manager.version)
            assembly.search_path.append(Word(path, line.place()))
    except ValueError as bad:
        line.fault("bad-setting", f"ExecSearchPath=: {bad}: the rest is ignored")


def _exec(assembly: Assembly, line: _Line) -> None:
    known = assembly.commands.setdefault(line.entry.name, [])
    if not line.value:
        known.clear()
        return
    parsed = commands.parse(line.value, line.subject)
    for command in parsed.commands:
        known.append(ExecCommand(command.argv, command.prefixes, command.path, line.place(command.offset)))
    for text in parsed.ignored:
        line.fault("exec", f"{line.entry.name}=: {text}")
    if parsed.fatal:
        raise line.refuse(parsed.fatal)


def _account(line: _Line) -> Word | None:
    if not line.value:
        return None
    try:
        name = line.expand(line.value)
    except BadSpecifier as bad:
        raise line.refuse(str(bad)) from None
    if not accounts.is_valid_name(name):
        raise line.refuse(f"not a valid name or number: {name}")
    return Word(name, line.place())


def _user(assembly: Assembly, line: _Line) -> None:
    assembly.user = _account(line)


def _group(assembly: Assembly, line: _Line) -> None:
    assembly.group = _account(line)


def _supplementary_groups(_: Assembly, line: _Line) -> None:
    for word in line.value.split():
        try:
            name = line.expand(word)
        except BadSpecifier as bad:
            raise line.refuse(str(bad)) from None
        if not accounts.is_valid_name(name):
            raise line.refuse(f"not a valid name or number: {name}")


def _working_directory(assembly: Assembly, line: _Line) -> None:
    version = line.subject.manager.version
    if not line.value:
        assembly.working_directory = None
        assembly.working_directory_optional = assembly.working_directory_optional and version < 256
        return
    optional = line.value.startswith("-")
    path = line.value[1:] if optional else line.value
    try:
        if path != "~":
            path = clean_absolute(line.expand(path, PATH_MAX - 1), version)
    except ValueError as bad:
        if not optional:
            raise line.refuse(str(bad)) from None
        line.fault("bad-setting", f"WorkingDirectory= is ignored: {bad}")
        return
    assembly.working_directory = Word(path, line.place())
    assembly.working_directory_optional = optional


def _pid_file(assembly: Assembly, line: _Line) -> None:
    if not line.value:
        assembly.pid_file = None
        return
    version = line.subject.manager.version
    try:
        path = line.expand(line.value, PATH_MAX - 1)
        if not path.startswith("/"):
            path = f"{line.subject.expand('%t')}/{path}"
        path = clean_absolute(path, version)
    except BadSpecifier as bad:
        line.fault("bad-specifier", f"PIDFile= is ignored: {bad}")
        return
    except ValueError as bad:
        raise Unloadable("error", Fault("bad-setting", f"PIDFile=: {bad}", line.place())) from None
    if path.startswith("/var/run/"):
        path = simplify(path[4:], version)
    assembly.pid_file = Word(path, line.place())


def _dynamic_user(_: Assembly, line: _Line) -> None:
    if line.value.lower() not in BOOLEANS:
        raise line.refuse(f"not a boolean: {line.value}")


def _fatal_path(_: Assembly, line: _Line) -> None:
    if not line.value:
        return
    try:
        clean_absolute(line.expand(line.value, PATH_MAX - 1), line.subject.manager.version)
    except ValueError as bad:
        raise line.refuse(str(bad)) from None


_PARSERS: dict[tuple[str, str], Callable[[Assembly, _Line], None]] = {
    ("Service", "Environment"): _environment,
    ("Service", "EnvironmentFile"): _environment_file,
    ("Service", "PassEnvironment"): _pass_environment,
    ("Service", "UnsetEnvironment"): _unset_environment,
    ("Service", "ExecSearchPath"): _exec_search_path,
    ("Service", "User"): _user,
    ("Service", "Group"): _group,
    ("Service", "SupplementaryGroups"): _supplementary_groups,
    ("Service", "WorkingDirectory"): _working_directory,
    ("Service", "PIDFile"): _pid_file,
    ("Service", "DynamicUser"): _dynamic_user,
    ("Service", "RootDirectory"): _fatal_path,
    ("Service", "RootImage"): _fatal_path,
    ("Service", "RootVerity"): _fatal_path,
    **{("Service", f"Exec{step}"): _exec
       for step in ("Condition", "StartPre", "Start", "StartPost", "Reload", "Stop", "StopPost")},
}  # fmt: skip
