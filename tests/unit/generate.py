"""Unit files, drop-ins, environment files, links and masks from a seed: what a reader of units must stand.

Every case is a handful of files under the root and the unit to ask for. ``run`` cases write their environment to
``/out/ID`` when they are started, so that a live systemd can say what they really get.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

OUT = "/out"
NAMES = ("A", "B", "A1", "PATH", "HOME", "CUDA_HOME", "LD_LIBRARY_PATH", "_u", "FOO_BAR", "x", "LANG_X")
PLACES = ("etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system")
MORE_PLACES = (*PLACES, "usr/local/lib/systemd/system", "etc/systemd/system.control")
SPECIFIERS = "nNpPiIjJfyYCELSTVdDhsgGuUtaAMBoqwWkzZ%"
PIECES = (
    "a", "value", "0,1,2", "12.0f", "/usr/local/cuda-12.8/bin:/usr/bin", "x=y", "=", ":", "~", "*", "[1]", "{a}", "|",
    "!", "$HOME", "${HOME}", "$$", "#no", ";no", "-DFOO", "é", "日本", "\U0001f600", "http://h:1/p?q=1&r=2", "%", "% ",
    "\t", "  ",
)  # fmt: skip
ESCAPES = (
    r"\\", r"\n", r"\t", r"\a", r"\e", r"\s", r"\x41", r"\xc3\xa9", r"\xff", r"\101", r"\303\251", r"\u00e9", r"\ud800",
    r"\U0001F600", r"\UFFFFFFFF", r"\q", r"\x4", r"\0", r"\000", r"\$", r"\"", r"\'", r"\;", r"\%", "\\ ",
)  # fmt: skip
STARTS = ("/usr/bin/env", "env", "python3", "/bin/sh", "/opt/my venv/bin/python", "/usr//bin/../bin/env", "%h/bin/run")


@dataclass
class Case:
    """Files by path below the root: bytes, or the target of a symlink as text."""

    id: str
    unit: str
    run: bool
    files: dict[str, bytes | str] = field(default_factory=dict)
    feature: str = ""


def cases(seed: int, count: int) -> Iterator[Case]:
    """``count`` cases; the same for the same seed."""
    makers = tuple(_MAKERS.items())
    for number in range(count):
        maker = _Maker(random.Random(f"{seed}:{number}"), f"s{seed}n{number:05}")
        feature, make = makers[number % len(makers)]
        case = make(maker)
        case.feature = feature
        yield case


class _Maker:
    """One case's dice, and the texts that are thrown with them."""

    def __init__(self, dice: random.Random, name: str) -> None:
        self.dice = dice
        self.name = name

    def chance(self, percent: int) -> bool:
        return self.dice.random() * 100 < percent

    def value(self, quoted: str = "") -> str:
        parts = []
        for _ in range(self.dice.choice((0, 1, 1, 2, 2, 3))):
            kind = self.dice.random()
            if kind < 0.15:
                parts.append("%" + self.dice.choice(SPECIFIERS))
            elif kind < 0.35:
                parts.append(self.dice.choice(ESCAPES))
            else:
                parts.append(self.dice.choice(PIECES))
        text = "".join(parts)
        if not quoted:
            text = text.replace("\t", "").replace(" ", "")
        return text.replace(quoted, "") if quoted and self.chance(80) else text

    def assignment(self) -> str:
        name = self.dice.choice(NAMES) if self.chance(92) else self.dice.choice(("FOO-B", "1A", "", "é", "A.B"))
        quote = self.dice.choice(("", "", '"', "'"))
        sign = "=" if self.chance(95) else ""
        if not quote:
            return f"{name}{sign}{self.value()}"
        if self.chance(30):
            return f"{name}{sign}{quote}{self.value(quote)}{quote}{self.value() if self.chance(30) else ''}"
        return f"{quote}{name}{sign}{self.value(quote)}{quote}"

    def environment(self) -> str:
        words = [self.assignment() for _ in range(self.dice.choice((0, 1, 1, 2, 3)))]
        joint = " "
        if self.chance(25):
            comment = self.dice.choice(("", "# c\n", "   ; c\n", "\n"))
            joint = f"\\\n{comment}{self.dice.choice(('', '  '))}"
        return self.setting("Environment", joint.join(words))

    def setting(self, name: str, value: str) -> str:
        left, right = self.dice.choice(("", "", " ", "\t")), self.dice.choice(("", "", "", " ", "  \t"))
        sign = self.dice.choice(("=", "=", "=", " =", "= ", " = "))
        return f"{left}{name}{sign}{value}{right}\n"

    def names(self) -> str:
        words = [
            self.dice.choice((*NAMES, "NOSUCH", "1A", "LANG", '"A"', r"\x41")) for _ in range(self.dice.randint(0, 2))
        ]
        return " ".join(words)

    def extra(self) -> str:
        """A line that has a say in the environment, or none at all."""
        kind = self.dice.randrange(16)
        if kind == 0:
            return self.setting("PassEnvironment", self.names())
        if kind == 1:
            word = f" {self.dice.choice(NAMES)}={self.value()}" if self.chance(40) else ""
            return self.setting("UnsetEnvironment", self.names() + word)
        if kind == 2:
            return self.setting(
                "ExecSearchPath", self.dice.choice(("/opt/a:/usr/bin", "/usr//bin/:", "a", "", "%t:/a", "/a\\:b"))
            )
        if kind == 3:
            return self.setting("SetLoginEnvironment", self.dice.choice(("yes", "no", "", "maybe")))
        if kind == 4:
            kinds = ("StateDirectory", "CacheDirectory", "RuntimeDirectory", "LogsDirectory", "ConfigurationDirectory")
            return self.setting(self.dice.choice(kinds), f"{self.name}/b {self.name}")
        if kind == 5:
            return self.setting("PIDFile", self.dice.choice(("a.pid", "/run/x//a.pid", "/var/run/b.pid")))
        if kind == 6:
            return self.dice.choice(
                ("# note\n", "; note\n", "\n", "stray\n", "=x\n", "environment=A=wrong\n", "X-A=1\n")
            )
        if kind == 7:
            return self.dice.choice(("[X-Other]\nEnvironment=A=no\n[Service]\n", "[Unit]\nDescription=%i\n[Service]\n"))
        return ""

    def body(self, *, run: bool = True, header: bool = True) -> str:
        """A fragment's text: what makes it a service, in random company."""
        out = f"StandardOutput=file:{OUT}/{self.name}\n"
        needed = ["Type=oneshot\n", "ExecStart=/usr/bin/env -0\n", out] if run else []
        lines = [self.environment() for _ in range(self.dice.randint(0, 3))]
        lines += [self.extra() for _ in range(self.dice.randint(0, 2))]
        if self.chance(15):
            lines.append(self.setting("Environment", ""))
        self.dice.shuffle(lines)
        head = "[Service]\n" if header else ""
        return head + "".join(lines[:1] + needed + lines[1:])

    def encoded(self, text: str) -> bytes:
        """The file's bytes, now and then with another line end, a BOM, no last line end, or rubbish."""
        if self.chance(6):
            text = text.replace("\n", self.dice.choice(("\r\n", "\r", "\n\r")))
        if self.chance(5):
            text = "\ufeff" + text
        if self.chance(8):
            text = text.rstrip("\n")
        data = text.encode("utf-8", "surrogatepass")
        if self.chance(2):
            data += self.dice.choice(
                (b"[Service\n", b"A=\xff\n", b'[S"x]\n', b"\0\n", b"Environment=A=\xc3\xa9 B=\\\n")
            )
        return data

    def case(self, unit: str, run: bool = True) -> Case:
        return Case(self.name, unit, run)

    def plain(self, run: bool = True) -> Case:
        case = self.case(f"{self.name}.service", run)
        case.files[f"{self.dice.choice(PLACES)}/{case.unit}"] = self.encoded(self.body(run=run))
        return case


def _environment_file(make: _Maker) -> Case:
    case = make.case(f"{make.name}.service")
    lines = []
    for number in range(make.dice.randint(1, 3)):
        path = f"etc/default/{make.name}.{number}"
        if make.chance(85):
            case.files[path] = _env_text(make)
        mark = "-" if make.chance(30) else ""
        pattern = f".{number}" if make.chance(80) else make.dice.choice((".*", ".[0-9]", ".?", "*", ".no*", "/x"))
        spelled = make.dice.choice(("/etc/default/", "/etc//default/./", "etc/default/", "/etc/../etc/default/")) \
            if make.chance(10) else "/etc/default/"  # fmt: skip
        lines.append(make.setting("EnvironmentFile", f"{mark}{spelled}{make.name}{pattern}"))
    if make.chance(8):
        lines.append("EnvironmentFile=\n")
    case.files[f"{make.dice.choice(PLACES)}/{case.unit}"] = make.encoded(make.body() + "".join(lines))
    return case


def _env_text(make: _Maker) -> bytes:
    lines = []
    for _ in range(make.dice.randint(0, 6)):
        name = make.dice.choice((*NAMES, "export A", "1x", "A ", " B", "=x"))
        quote = make.dice.choice(("", "", '"', "'"))
        value = make.value(quote or " ")
        if make.chance(15):
            value += make.dice.choice(("\\\n", "\n")) + make.value()
        tail = make.dice.choice(("", "", "", "tail", "  ", '"b"', "'c'", " # c", "\\", " \\"))
        sign = make.dice.choice(("=", "=", "=", "==", "= ", " = ", ""))
        lines.append(f"{name}{sign}{quote}{value}{quote if make.chance(93) else ''}{tail}")
        if make.chance(15):
            lines.append(make.dice.choice(("# c", "; c \\", "", "   # c", "# c\\x", "\\")))
    data = "\n".join(lines).encode("utf-8", "surrogatepass") + (b"\n" if make.chance(85) else b"")
    if make.chance(6):
        data = data.replace(b"\n", make.dice.choice((b"\r\n", b"\r")))
    if make.chance(3):
        data += make.dice.choice((b"A=\xff\n", b"A=\0\n", b"\xef\xbb\xbfA=1\n", b"\xff=1\n", b"B=\xef\xbf\xbe\n"))
    return data


def _drop_ins(make: _Maker) -> Case:
    suffix = make.dice.choice(("", "-b", "-b-c", "-b-", "--c"))
    case = make.case(f"{make.name}{suffix}.service")
    case.files[f"{make.dice.choice(PLACES)}/{case.unit}"] = make.encoded(make.body())
    owners = [case.unit, f"{make.name}-.service", f"{make.name}-b-.service", f"{make.name}.service"]
    for _ in range(make.dice.randint(1, 5)):
        name = make.dice.choice(
            ("10-a.conf", "20-b.conf", "50-remedy.conf", "90-z.conf", "é.conf", "no.txt", ".hid.conf")
        )
        path = f"{make.dice.choice(MORE_PLACES)}/{make.dice.choice(owners)}.d/{name}"
        kind = make.dice.random()
        if kind < 0.08:
            case.files[path] = "/dev/null"
        elif kind < 0.12:
            case.files[path] = b""
        elif kind < 0.15:
            case.files[path] = "/nonexistent"
        elif kind < 0.18:
            case.files[path] = b"[Service]\nEnvironment=A=1\nUser=a:b\nEnvironment=A=2\n"
        else:
            case.files[path] = make.encoded(make.body(run=False, header=make.chance(92)))
    if suffix.endswith("-"):
        # %J of a name that ends in a dash trips an assertion of PID 1 (seen in 252): the machine is gone.
        texts = {path: text.replace(b"%J", b"%j") for path, text in case.files.items() if isinstance(text, bytes)}
        case.files.update(texts)
    return case


def _exec_start(make: _Maker) -> Case:
    case = make.case(f"{make.name}.service", run=False)
    lines = [f"Type={make.dice.choice(('oneshot', 'oneshot', 'simple', 'notify', 'exec', 'odd'))}\n"]
    for _ in range(make.dice.choice((1, 1, 1, 2, 3))):
        lines.append(make.setting("ExecStart", _command(make)))
    if make.chance(10):
        lines.append("ExecStart=\nExecStart=/usr/bin/env last\n")
    if make.chance(30):
        users = ("daemon", "nobody", "root", "0", "1", "%u", "a b", "a:b", "", "-1", "65535", "no such")
        lines.append(make.setting("User", make.dice.choice(users)))
    if make.chance(35):
        paths = (
            "/srv",
            "/srv//a/",
            "~",
            "-~",
            "-/nosuch",
            "relative",
            "-relative",
            "/a b",
            "%h/x",
            "/srv/%p",
            "/a/../b",
            "",
        )
        lines.append(make.setting("WorkingDirectory", make.dice.choice(paths)))
    if make.chance(20):
        others = (
            "Restart=always", "ExitType=cgroup", "RemainAfterExit=yes", "DynamicUser=yes", "BusName=org.x.y",
            "PAMName=x", "KillMode=process", "RestartForceExitStatus=1", "RootDirectory=a", "SupplementaryGroups=a:b",
            "DynamicUser=2", "ExecStop=/bin/true", "SuccessAction=reboot",
        )  # fmt: skip
        lines.append(make.dice.choice(others) + "\n")
    case.files[f"{make.dice.choice(PLACES)}/{case.unit}"] = make.encoded("[Service]\n" + "".join(lines))
    return case


def _command(make: _Maker) -> str:
    prefixes = make.dice.choice(("", "", "", "-", "@", "-@", ":", "+", "!", "!!", "+-", "=", "|", "!+", "--"))
    start = make.dice.choice(STARTS)
    if make.chance(10):
        start = make.dice.choice(("/", "/usr/bin/", "", "a/b", "/bin/e\\x6ev", "%k/x", ";", "/bin/.", "..", '"/bin/a'))
    if " " in start and make.chance(80):
        start = f'"{start}"'
    words = [prefixes + start]
    for _ in range(make.dice.randint(0, 4)):
        quote = make.dice.choice(("", "", '"', "'"))
        word = f"{quote}{make.value(quote)}{quote}"
        others = (word, "\\;", ";", "${A}", "--x='é'", 'a"b"c', '"')
        words.append(make.dice.choice(others) if make.chance(60) else word)
    line = make.dice.choice((" ", " ", "\\\n", "\\\n# c\n  ")).join(words)
    # Bytes that are no UTF-8 can't be asked for over D-Bus: 247 loses its connection over them.
    return line.replace(r"\xff", r"\x7e").replace(r"\ud800", r"\ud7ff")


def _template(make: _Maker) -> Case:
    instance = make.dice.choice(("1", "a:b", "x.y", "a\\x2db", "srv-models-k26", "-", "a--b", "\\x2fa", "\\xzz", "a@b"))
    case = make.case(f"{make.name}{make.dice.choice(('', '-p'))}@{instance}.service")
    template = f"{case.unit.partition('@')[0]}@.service"
    head = "[Service]\nEnvironment=I=%i N=%n M=%N P=%p\nEnvironment=J=%I\nEnvironment=F=%f\nEnvironment=Q=%j\n"
    case.files[f"{make.dice.choice(PLACES)}/{template}"] = make.encoded(head + make.body().removeprefix("[Service]\n"))
    if make.chance(25):
        case.files[f"{make.dice.choice(PLACES)}/{case.unit}"] = make.encoded(
            "[Service]\nEnvironment=OWN=%i\n" + make.body()
        )
    owners = (
        case.unit,
        template,
        f"{make.name}-@.service",
        f"{make.name}-@{instance}.service",
        f"{make.name}-.service",
    )
    for _ in range(make.dice.randint(0, 3)):
        path = f"{make.dice.choice(PLACES)}/{make.dice.choice(owners)}.d/{make.dice.choice(('10-a', '50-b'))}.conf"
        case.files[path] = make.encoded(make.body(run=False))
    return case


def _location(make: _Maker) -> Case:
    case = make.case(f"{make.name}.service")
    for place in make.dice.sample(MORE_PLACES, make.dice.randint(1, 3)):
        path = f"{place}/{case.unit}"
        kind = make.dice.random()
        if kind < 0.12:
            case.files[path] = "/dev/null"
        elif kind < 0.17:
            case.files[path] = b""
        elif kind < 0.24:
            case.files[path] = f"/opt/{make.name}/linked.service"
            case.files[f"opt/{make.name}/linked.service"] = make.encoded(make.body())
        elif kind < 0.28:
            case.files[path] = make.dice.choice((f"./{case.unit}", "/nonexistent", f"{make.name}-z.service"))
        else:
            where = f"[Service]\nEnvironment=FROM={place}\n"
            case.files[path] = make.encoded(where + make.body().removeprefix("[Service]\n"))
    return case


def _alias(make: _Maker) -> Case:
    real, alias, second = f"{make.name}.service", f"{make.name}-alias.service", f"{make.name}-more.service"
    case = make.case(make.dice.choice((real, alias, second)))
    place = make.dice.choice(PLACES)
    case.files[f"{place}/{real}"] = make.encoded(
        "[Service]\nEnvironment=N=%n\n" + make.body().removeprefix("[Service]\n")
    )
    link = make.dice.choice((f"/{place}/{real}", real, f"../system/{real}"))
    case.files[f"{make.dice.choice(PLACES)}/{alias}"] = link
    case.files[f"{place}/{second}"] = f"/{place}/{make.dice.choice((alias, real))}"
    for owner in make.dice.sample((real, alias, f"{make.name}-.service", second), make.dice.randint(0, 2)):
        # systemd looks at aliases in the order of a hash: names that differ leave it no choice.
        path = f"{make.dice.choice(PLACES)}/{owner}.d/{len(owner)}-{make.dice.choice('ab')}.conf"
        case.files[path] = f"[Service]\nEnvironment=VIA_{len(owner)}={owner} D=%n\n".encode()
    return case


def _login(make: _Maker) -> Case:
    case = make.case(f"{make.name}.service")
    users = ("root", "0", "daemon", "1", "nobody", "65534", "nosuchuser", "4242", "bin")
    lines = [make.setting("User", make.dice.choice(users))] if make.chance(70) else []
    if make.chance(40):
        lines.append(make.setting("WorkingDirectory", make.dice.choice(("-~", "/", "-/nosuch"))))
    if make.chance(30):
        lines.append(make.setting("SetLoginEnvironment", make.dice.choice(("yes", "no", ""))))
    body = make.body()
    if make.chance(15) and "Directory" not in body:
        # Dynamic users of 247 can't have some of the directories in a container.
        lines.append("DynamicUser=yes\n")
    case.files[f"{make.dice.choice(PLACES)}/{case.unit}"] = make.encoded(body + "".join(lines))
    return case


_MAKERS: dict[str, Callable[[_Maker], Case]] = {
    "environment": _Maker.plain,
    "environment_file": _environment_file,
    "drop_ins": _drop_ins,
    "exec_start": _exec_start,
    "template": _template,
    "location": _location,
    "alias": _alias,
    "login": _login,
}
