"""Whether someone has changed something since the service failed."""

from __future__ import annotations

from collections.abc import Iterator

from remedy.plan.inputs import Inputs

_DPKG_STATUS = "/var/lib/dpkg/status"


def touched(inputs: Inputs) -> bool:
    """Whether what the service starts with is newer than its failure, so that another start can end otherwise.

    Where it is not known when the service failed: yes.
    """
    state = inputs.snapshot.state
    if state is None or not state.inactive_enter or state.need_daemon_reload:
        return True
    stats = (inputs.view.stat(path) for path in _paths(inputs))
    return any(found.mtime_ns > state.inactive_enter * 1000 for found in stats if found)


def edited(inputs: Inputs) -> bool:
    """Whether one of the unit's own files is newer than the failure: its log is of a service with other settings.

    Where it is not known when the service failed: no.
    """
    state, service = inputs.snapshot.state, inputs.service
    if state is None or not state.inactive_enter:
        return False
    files = (service.fragment, *service.drop_ins, *(file.path for file in service.environment_files))
    stats = (inputs.view.stat(path) for path in files if path)
    return any(found.mtime_ns > state.inactive_enter * 1000 for found in stats if found)


def _paths(inputs: Inputs) -> Iterator[str]:
    """The unit's files, its toolkits' compilers, what pip installed, and what dpkg did."""
    service, python = inputs.service, inputs.snapshot.interpreter
    yield from (path for path in (service.fragment, *service.drop_ins) if path)
    yield from (file.path for file in service.environment_files)
    yield from (resolution.nvcc for resolution in inputs.resolutions if resolution.nvcc)
    yield from python.site_packages if python else ()
    yield _DPKG_STATUS
