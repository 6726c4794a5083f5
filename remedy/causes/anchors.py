"""Which of many literals a text holds.

Testing some eight hundred of them one by one is most of what a line costs. The first three letters of each are
compared with all the letter triples of the text at once; only what that leaves is tested.
"""

from __future__ import annotations

from collections.abc import Iterable

from remedy.hints import Final

#: Texts longer than this have so many triples that testing each literal is cheaper.
_LONG: Final = 700


class Anchors:
    """A fixed set of literals."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = tuple(dict.fromkeys(words))
        self._short = [word for word in self._words if len(word) < 3]
        self._under: dict[str, list[str]] = {}
        for word in self._words:
            if len(word) >= 3:
                self._under.setdefault(word[:3], []).append(word)

    def within(self, text: str) -> list[str]:
        """Those that the text holds, in no order."""
        if len(text) > _LONG:
            return [word for word in self._words if word in text]
        near = self._under.keys() & {text[at : at + 3] for at in range(len(text) - 2)}
        found = [word for triple in near for word in self._under[triple] if word in text]
        return found + [word for word in self._short if word in text]
