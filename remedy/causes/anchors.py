"""Which of many literals a text holds.

Testing some five hundred of them one by one is most of what a line costs. Three letters of each, chosen so that few
share them, are compared with all the letter triples of the text at once; only what that leaves is tested.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator

from remedy.hints import Final

#: Texts longer than this have so many triples that testing each literal is cheaper.
_LONG: Final = 700
#: So many texts are tested in the time that finding the triples takes.
_FEW: Final = 500


def _triples(text: str) -> Iterator[str]:
    return (text[at : at + 3] for at in range(len(text) - 2))


class Anchors:
    """A fixed set of literals."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = tuple(dict.fromkeys(words))
        self._asked = 0

    @functools.cached_property
    def _of(self) -> dict[str, list[str]]:
        """The literals by their rarest triple; the empty key has those that are too short for one."""
        common = Counter(triple for word in self._words for triple in set(_triples(word)))
        found: dict[str, list[str]] = {}
        for word in self._words:
            # Of equally rare ones that with the fewest small letters: prose is made of those.
            rarest = min(_triples(word), key=lambda triple: (sum(map(str.islower, triple)), common[triple]), default="")
            found.setdefault(rarest, []).append(word)
        return found

    def within(self, text: str) -> list[str]:
        """Those that the text holds, in no order."""
        self._asked += 1
        if self._asked < _FEW or len(text) > _LONG:
            return [word for word in self._words if word in text]
        near = self._of.keys() & {text[at : at + 3] for at in range(len(text) - 2)}
        found = [word for triple in near for word in self._of[triple] if word in text]
        return found + [word for word in self._of.get("", ()) if word in text]
