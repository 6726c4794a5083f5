"""Order: pure tests first, then those that boot a machine, so that a mistake shows in the first seconds."""

from __future__ import annotations

import pytest

pytest_plugins = ["tests.lab.fixtures"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("machine") is not None)
