"""Names of users."""

from __future__ import annotations

import pytest

from remedy.unit.accounts import is_strict_name, is_valid_name, parse_uid


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("llm", True), ("a b", True), ("a@dom", True), ("0", True), ("4294967294", True), ("é", True), ("a.b", True),
        ("", False), (" a", False), ("a:b", False), ("a/b", False), ("4294967295", False), ("65535", False),
        ("99999999999", False), ("-1", False), ("007", False), (".", False), ("a\tb", False), ("\udcff", False),
    ],
)  # fmt: skip
def test_is_valid_name(name: str, valid: bool) -> None:
    assert is_valid_name(name) is valid


@pytest.mark.parametrize(
    ("text", "uid"), [("0", 0), ("1000", 1000), ("01", None), ("+1", None), ("65535", None), ("²", None)]
)
def test_parse_uid(text: str, uid: int | None) -> None:
    assert parse_uid(text) == uid


@pytest.mark.parametrize(
    ("name", "valid"), [("a-b_1", True), ("1a", False), ("a.b", False), ("", False), ("x" * 32, False)]
)
def test_is_strict_name(name: str, valid: bool) -> None:
    assert is_strict_name(name) is valid
