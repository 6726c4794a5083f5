"""Unit names."""

from __future__ import annotations

import pytest

from remedy.errors import UsageError
from remedy.unit import names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("sglang-k26", "sglang-k26.service"),
        ("sglang-k26.service", "sglang-k26.service"),
        ("foo@bar", "foo@bar.service"),
        ("foo@srv-models\\x2dk26.service", "foo@srv-models\\x2dk26.service"),
        ("foo.bar", "foo.bar.service"),
        (" foo ", "foo.service"),
        ("timer", "timer.service"),
    ],
)
def test_service_name(text: str, name: str) -> None:
    assert names.service_name(text) == name


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no unit"),
        ("x.timer", "is a timer unit"),
        ("foo@.service", "is a template"),
        ("foo@", "is a template"),
        ("a b", "not a valid unit name"),
        ("/etc/systemd/system/x.service", "is a path"),
        ("x" * 300, "not a valid unit name"),
        (".service", "not a valid unit name"),
        ("@a.service", "not a valid unit name"),
        ("x.service\0", "not a valid unit name"),
    ],
)
def test_bad_names_get_one_clear_error(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        names.service_name(text)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.service", "plain"),
        ("a@b.service", "instance"),
        ("a@b@c.service", "instance"),
        ("a@.service", "template"),
        ("a.conf", None),
        ("a", None),
        ("é.service", None),
        ("a" * 247 + ".service", "plain"),
        ("a" * 248 + ".service", None),
    ],
)
def test_kind(name: str, kind: str | None) -> None:
    assert names.kind_of(name) == kind


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("srv-models-k26", "srv/models/k26"),
        ("a\\x2db", "a-b"),
        ("a:b", "a:b"),
        ("", ""),
        ("\\xc3\\xa9", "é"),
        ("\\xff", "\udcff"),
        ("\\x", None),
        ("\\y41", None),
        ("\\xg1", None),
        ("a\\x00b", "a"),
    ],
)
def test_unescape(text: str, plain: str | None) -> None:
    assert names.unescape(text) == plain


@pytest.mark.parametrize(
    ("text", "path"),
    [("-", "/"), ("srv-a", "/srv/a"), ("", None), ("a--b", None), ("-a", None), ("a-", None), ("a-..-b", None)],
)
def test_unescape_path(text: str, path: str | None) -> None:
    assert names.unescape_path(text) == path


@pytest.mark.parametrize(
    ("name", "owners"),
    [
        ("foo.service", ["foo.service"]),
        ("foo-bar.service", ["foo-bar.service", "foo-.service"]),
        ("a-b-c.service", ["a-b-c.service", "a-b-.service", "a-.service"]),
        ("foo-.service", ["foo-.service"]),
        ("a-b-.service", ["a-b-.service", "a-.service"]),
        ("-foo.service", ["-foo.service"]),
        ("a--.service", ["a--.service", "a-.service"]),
        ("foo@x.service", ["foo@x.service", "foo@.service"]),
        (
            "a-b@x.service",
            ["a-b@x.service", "a-b@.service", "a-.service", "a-@x.service", "a-@.service"],
        ),
    ],
)
def test_dropin_names(name: str, owners: list[str]) -> None:
    assert names.dropin_names(name) == owners
