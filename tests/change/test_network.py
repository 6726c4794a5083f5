"""Whose proxies and package index a change uses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from remedy.change.network import give_configuration, settings


def test_what_is_handed_on() -> None:
    wanted = {
        "http_proxy": "http://proxy:3128",
        "HTTPS_PROXY": "http://proxy:3128",
        "no_proxy": "localhost",
        "ALL_PROXY": "socks5://proxy",
        "PIP_INDEX_URL": "https://mirror/simple",
        "SSL_CERT_FILE": "/etc/ssl/own.pem",
        "REQUESTS_CA_BUNDLE": "/etc/ssl/own.pem",
    }
    others = {"HF_TOKEN": "hf_x", "PATH": "/bin", "LD_PRELOAD": "/x.so", "PYTHONPATH": "/x", "MY_HTTP_PROXY_NOTE": "x"}
    assert settings({**wanted, **others}) == wanted


@pytest.mark.parametrize(
    ("files", "given", "copied"),
    [
        ({}, None, None),
        ({".config/pip/pip.conf": "new"}, None, "new"),
        ({".pip/pip.conf": "old"}, None, "old"),
        ({".config/pip/pip.conf": "new", ".pip/pip.conf": "old"}, None, "new"),
        ({".config/pip/pip.conf": "new", "own.conf": "own"}, "own.conf", "own"),
        # pip reads no configuration at all then.
        ({".config/pip/pip.conf": "new"}, "/dev/null", None),
    ],
    ids=["none", "newer-place", "older-place", "both", "named", "switched-off"],
)
def test_root_s_pip_configuration(tmp_path: Path, files: dict[str, str], given: str | None, copied: str | None) -> None:
    home, folder = tmp_path / "home", tmp_path / "wheels"
    folder.mkdir()
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    named = {"PIP_CONFIG_FILE": str(home / given)} if given else {}
    got = give_configuration(named, folder, os.getuid(), home)
    copy = folder / "pip.conf"
    assert got == ({"PIP_CONFIG_FILE": str(copy)} if copied else {})
    assert (copy.read_text() if copied else None) == copied
    assert not copied or copy.stat().st_mode & 0o777 == 0o400
