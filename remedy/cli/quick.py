"""The plain forms of the commands that people and units run most, read without the library that reads every form.

Importing typer takes as long as a whole diagnosis. A line that is not known here down to its last word (``--help``, a
misspelt option, a missing value) is left to ``app``, which does the same, or says what is wrong with the line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from remedy.hints import Final, Literal
from remedy.value import dataclass, field

#: The least and the most operands for each word of ``Form.takes``.
_OPERANDS: Final = {"none": (0, 0), "maybe": (0, 1), "one": (1, 1), "many": (1, sys.maxsize)}


def _systemd(text: str) -> int | None:
    return int(text) if text.isdecimal() and int(text) >= 200 else None


@dataclass(frozen=True)
class Form:
    """A command's function (``module:name``) and its options, by the names of the function's parameters.

    ``values`` reads each option that takes a word; None where the word is not a plain one. ``takes`` is what operands
    there are: ``maybe`` is one or none, and ``many`` one or more, handed over as a list.
    """

    function: str
    flags: tuple[str, ...] = ()
    values: Mapping[str, Callable[[str], object]] = field(default_factory=dict)
    takes: Literal["none", "maybe", "one", "many"] = "one"

    def read(self, words: Sequence[str]) -> tuple[list[str], dict[str, object]] | None:
        """The operands and the options in a command line; None where it is none of the plain ones."""
        options: dict[str, object] = {**dict.fromkeys(self.flags, False), **dict.fromkeys(self.values)}
        operands: list[str] = []
        left = iter(words)
        for word in left:
            name = word[2:].replace("-", "_")
            if not word.startswith("-") or word == "-":
                operands.append(word)
            elif word != spelled(name):
                return None
            elif name in self.flags:
                options[name] = True
            elif name in self.values:
                value = next(left, "-")
                options[name] = None if value.startswith("-") else self.values[name](value)
                if options[name] is None:
                    return None
            else:
                return None
        least, most = _OPERANDS[self.takes]
        return (operands, options) if least <= len(operands) <= most else None


FORMS: Final[Mapping[str, Form]] = {
    "diagnose": Form("remedy.cli.diagnose:diagnose", ("json", "user"), {"root": str, "snapshot": str, "gpu_arch": str}),
    "check": Form("remedy.cli.diagnose:check", ("user",), {"gpu_arch": str}),
    "show": Form(
        "remedy.cli.show:show", ("json", "show_secrets", "user"), {"root": str, "systemd": _systemd}, takes="many"
    ),
    "explain": Form("remedy.cli.explain:explain", ("json",), {"facts": str}, takes="maybe"),
    "history": Form("remedy.cli.history:history", ("json",), takes="maybe"),
    "toolkits": Form("remedy.cli.toolkits:toolkits", ("json",), takes="none"),
}


def spelled(name: str) -> str:
    """The option for a parameter: ``--gpu-arch`` for ``gpu_arch``."""
    return f"--{name.replace('_', '-')}"


def run(arguments: Sequence[str]) -> int | None:
    """Run a command line in a plain form and return its exit code; None for any other line."""
    form = FORMS.get(arguments[0]) if arguments else None
    read = form.read(arguments[1:]) if form else None
    if form is None or read is None:
        return None
    from remedy.listing import module

    place, _, name = form.function.partition(":")
    operands, options = read
    given: Sequence[object] = [operands] if form.takes == "many" else operands
    if form.takes == "maybe" and not operands:
        given = [None]
    code: int = getattr(module(place), name)(*given, **options)
    return code
