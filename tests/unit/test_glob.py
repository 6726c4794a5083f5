"""glob(7) on a view."""

from __future__ import annotations

import pytest

from remedy.unit.glob import expand
from tests.memory import MemoryView

VIEW = MemoryView(files={f"/d/{name}": "" for name in ("a.1", "a.2", "b", ".h", "a*", "sub/c", "sub2/c")})


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("/d/b", ["/d/b"]),
        ("/d/no", ["/d/no"]),
        ("/d/no*", []),
        ("/d/a.*", ["/d/a.1", "/d/a.2"]),
        ("/d/a.[2-9]", ["/d/a.2"]),
        ("/d/a.[!2]", ["/d/a.1"]),
        ("/d/a.[^2]", ["/d/a.1"]),
        ("/d/\\!*", []),
        ("/d/?", ["/d/b"]),
        ("/d/*", ["/d/a*", "/d/a.1", "/d/a.2", "/d/b", "/d/sub", "/d/sub2"]),
        ("/d/.*", ["/d/.h"]),
        ("/d/a\\*", ["/d/a*"]),
        ("/d/*/c", ["/d/sub/c", "/d/sub2/c"]),
        ("/no/*", []),
        ("/d/[", []),
        ("/dev/null", ["/dev/null"]),
    ],
)
def test_expand(pattern: str, paths: list[str]) -> None:
    assert expand(VIEW, pattern) == paths
