"""The diff that a plan shows."""

from __future__ import annotations

import pytest

from remedy.show.diff import unified
from remedy.unit.types import FileEdit


def hide(text: str) -> str:
    return text.replace("s3cret", "***")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (b"a\n", b"a\n", ""),
        (b"a\nb\n", b"a\nc\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        (None, b"x\n", "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n"),
        (b"a", b"b", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"
                     "\\ No newline at end of file\n"),
        (b"a\nb", b"a\nb\nc", "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n a\n-b\n\\ No newline at end of file\n+b\n+c\n"
                              "\\ No newline at end of file\n"),
        (b"K=s3cret\nA=1\n", b"K=s3cret\nA=2\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n K=***\n-A=1\n+A=2\n"),
        (b"-- x\n", b"++ y\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n--- x\n+++ y\n"),
        (b"@@ x\na\n", b"@@ x\nb\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n @@ x\n-a\n+b\n"),
        (b"a\r\n", b"b\r\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\\r\n+b\\r\n"),
        (b"\xff\0\n", b"b\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-\\xff\\x00\n+b\n"),
    ],
)  # fmt: skip
def test_unified(before: bytes | None, after: bytes, expected: str) -> None:
    assert unified(FileEdit("/f", before, after, ""), hide) == expected
