"""Writes some files of a wheel into a folder without fetching the rest, with pip's own reader of remote wheels.

Arguments: distribution, version, folder, patterns of file names (fnmatch: a star stands for folders as well).
"""

from __future__ import annotations

import pathlib
import sys
import zipfile
from fnmatch import fnmatch

from pip._internal.commands.download import DownloadCommand
from pip._internal.network.lazy_wheel import LazyZipOverHTTP
from pip._vendor.packaging.specifiers import SpecifierSet


def main(distribution: str, version: str, folder: str, *patterns: str) -> None:
    command = DownloadCommand("download", "")
    options, _ = command.parse_args([])
    with command.main_context():
        session = command.get_default_session(options)
        finder = command._build_package_finder(options, session)
        best = finder.find_best_candidate(distribution, SpecifierSet(f"=={version}")).best_candidate
        if best is None:
            sys.exit(f"ERROR: the index has no wheel of {distribution} {version} for this machine")
        with zipfile.ZipFile(LazyZipOverHTTP(best.link.url, session)) as file:
            wanted = [name for name in file.namelist() if any(fnmatch(name, pattern) for pattern in patterns)]
            for name in (name for name in wanted if ".." not in name):
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.read(name))


main(*sys.argv[1:])
