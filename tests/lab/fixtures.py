"""Fixtures for tests that boot a machine; `tests/conftest.py` loads them as a plugin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab import recipe
from tests.lab.layers import Root
from tests.lab.machine import Machine


@pytest.fixture(scope="session")
def lab_root() -> Root:
    """The lab's root with everything in it; built by the first test that asks for it, and kept."""
    return recipe.build()


@pytest.fixture(scope="module")
def machine(lab_root: Root) -> Iterator[Machine]:
    """One booted machine for the tests of a module that don't disturb each other."""
    with Machine(lab_root) as booted:
        yield booted


@pytest.fixture
def fresh_machine(lab_root: Root) -> Iterator[Machine]:
    """A booted machine for one test alone."""
    with Machine(lab_root) as booted:
        yield booted
