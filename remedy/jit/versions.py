"""Library versions as plain tuples that compare the way PEP 440 orders releases.

``packaging.version`` costs 10 ms or more to import, a fifth of what ``diagnose`` may take; the few rules that the
ranges in this folder need (release, pre-, post- and development releases, local labels ignored) are these lines.
"""

from __future__ import annotations

from functools import lru_cache

from remedy.hints import Final

Key = tuple[int, ...]

_WIDTH: Final = 4
_PHASES: Final = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "rc": -1, "c": -1, "post": 1, "r": 1, "rev": 1}


def _words(text: str) -> list[str]:
    """Runs of digits and runs of letters; everything else parts them."""
    words: list[str] = []
    for part in text.replace("-", ".").replace("_", ".").split("."):
        word = ""
        for letter in part:
            if word and letter.isdecimal() != word[-1].isdecimal():
                words.append(word)
                word = ""
            word += letter
        if word:
            words.append(word)
    return words


@lru_cache(maxsize=512)
def key(text: str) -> Key:
    """``0.6.8.post1`` as (0, 6, 8, 0, 1, 1): four release numbers, the phase (0 final, 1 post, below 0 earlier),
    its number. A text without a leading number gives (0, 0, 0, 0, 0, 0).
    """
    words = _words(text.strip().lower().partition("+")[0].removeprefix("v"))
    release: list[int] = []
    while words and words[0].isdecimal():
        release.append(int(words.pop(0)))
    phase = number = 0
    if words and words[0] in _PHASES:
        phase = _PHASES[words.pop(0)]
        number = int(words.pop(0)) if words and words[0].isdecimal() else 0
    padded = (release + [0] * _WIDTH)[:_WIDTH]
    return (*padded, phase, number)


def at_least(version: str, low: str) -> bool:
    """Whether a release is ``low`` or later."""
    return key(version) >= key(low)


def between(version: str, low: str, below: str) -> bool:
    """Whether a release is ``low`` or later and earlier than ``below``."""
    return key(low) <= key(version) < key(below)


def cuda(text: str | None) -> tuple[int, int] | None:
    """``13.0`` or ``12.8.93`` as (13, 0) or (12, 8); None where the text holds no such number."""
    if not text:
        return None
    parts = text.strip().split(".")
    if len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return None
    return int(parts[0]), int(parts[1])


def dotted(version: tuple[int, ...]) -> str:
    """(12, 9) as ``12.9``."""
    return ".".join(str(part) for part in version)
