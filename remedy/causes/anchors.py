"""Which of many literals a text holds.

Testing some five hundred of them one by one is most of what a line costs. Three letters of each, chosen so that few
share them, are compared with all the letter triples of the text at once; only what that leaves is tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from remedy.hints import Final

#: Texts longer than this have so many triples that testing each literal is cheaper.
_LONG: Final = 700


def _triples(text: str) -> Iterator[str]:
    return (text[at : at + 3] for at in range(len(text) - 2))


class Anchors:
    """A fixed set of literals."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = tuple(dict.fromkeys(words))
        common = Counter(triple for word in self._words for triple in set(_triples(word)))
        self._short = tuple(word for word in self._words if len(word) < 3)
        self._of: dict[str, list[str]] = {}
        for word in self._words:
            if len(word) >= 3:
                # Of equally rare ones that with the fewest small letters: prose is made of those.
                rarest = min(_triples(word), key=lambda triple: (sum(map(str.islower, triple)), common[triple]))
                self._of.setdefault(rarest, []).append(word)
        self._triples = frozenset(self._of)

    def within(self, text: str) -> list[str]:
        """Those that the text holds, in no order."""
        if len(text) > _LONG:
            return [word for word in self._words if word in text]
        near = self._triples & {text[at : at + 3] for at in range(len(text) - 2)}
        found = [word for triple in near for word in self._of[triple] if word in text]
        return found + [word for word in self._short if word in text]
