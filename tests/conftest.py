"""Order: pure tests first, then those that boot a machine, so that a mistake shows in the first seconds."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest_plugins = ["tests.lab.fixtures"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("machine") is not None)


@pytest.fixture
def passable() -> Iterator[Path]:
    """A folder that every user may pass. Not below pytest's own, which each run of pytest closes to others again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path
