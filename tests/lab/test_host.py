"""What the lab reads of the machine that it is built on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab import host

ONE_LINE = "# comment\ndeb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm main\n"
DEB822 = "Types: deb\nURIs: http://a.example/debian http://b.example/debian\nSuites: bookworm\n"
OTHER = "deb http://mirror.example/ubuntu noble main\n"


@pytest.mark.parametrize(
    ("name", "text", "mirror"),
    [
        ("sources.list", ONE_LINE, "http://mirror.example/debian"),
        ("sources.list.d/debian.sources", DEB822, "http://a.example/debian"),
        ("sources.list.d/other.list", OTHER, None),
        ("sources.list.d/debian.sources.disabled", DEB822, None),
    ],
)
def test_debian_mirror(tmp_path: Path, name: str, text: str, mirror: str | None) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / name).write_text(text)
    assert host.debian_mirror(tmp_path) == mirror


def test_apt_settings_are_the_acquire_lines(tmp_path: Path) -> None:
    (tmp_path / "apt.conf.d").mkdir()
    (tmp_path / "apt.conf.d/proxy").write_text(
        '// why\nAcquire::http::Proxy "http://p:3128";\nDPkg::Post-Invoke "x";\n'
    )
    assert host.apt_settings(tmp_path) == 'Acquire::http::Proxy "http://p:3128";\n'
