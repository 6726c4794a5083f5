"""Writes some files of a release into a folder, with pip's own reader of indexes.

Of a wheel the rest is not fetched; of a source archive, which has no table of contents, it is not kept, nor is the
archive's build asked for anything. Arguments: distribution, version, folder, patterns of file names (fnmatch: a star
stands for folders as well); a source archive's names are those below its first folder.
"""

from __future__ import annotations

import pathlib
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch

from pip._internal.commands.download import DownloadCommand
from pip._internal.network.lazy_wheel import LazyZipOverHTTP
from pip._internal.network.session import PipSession
from pip._vendor.packaging.specifiers import SpecifierSet


def in_wheel(address: str, session: PipSession, patterns: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(LazyZipOverHTTP(address, session)) as file:
        for name in file.namelist():
            if any(fnmatch(name, pattern) for pattern in patterns):
                yield name, file.read(name)


def in_source(address: str, session: PipSession, patterns: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    reply = session.get(address, headers={"Accept-Encoding": "identity"}, stream=True)
    reply.raise_for_status()
    with tarfile.open(fileobj=reply.raw, mode="r|gz") as file:
        for member in file:
            name = member.name.partition("/")[2]
            content = file.extractfile(member) if any(fnmatch(name, pattern) for pattern in patterns) else None
            if content is not None:
                yield name, content.read()


def main(distribution: str, version: str, folder: str, *patterns: str) -> None:
    command = DownloadCommand("download", "")
    options, _ = command.parse_args([])
    with command.main_context():
        session = command.get_default_session(options)
        finder = command._build_package_finder(options, session)
        best = finder.find_best_candidate(distribution, SpecifierSet(f"=={version}")).best_candidate
        if best is None:
            sys.exit(f"ERROR: the index has no {distribution} {version} for this machine")
        read = in_wheel if best.link.is_wheel else in_source
        for name, content in read(best.link.url, session, patterns):
            if ".." not in name:
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)


main(*sys.argv[1:])
