"""The CUDA toolkits of a machine and the services that use each."""

from __future__ import annotations

from collections.abc import Sequence

from remedy.facts.types import Toolkit
from remedy.hints import Any
from remedy.show.text import dotted, rows, wrap
from remedy.value import dataclass

SCHEMA = 1
# What a kernel of the common libraries needs; a toolkit without one of these builds nothing.
NEEDED = ("nvcc", "cicc", "ptxas", "crt", "cudart-headers", "cudart-library", "cccl", "curand", "stub")


@dataclass(frozen=True)
class Use:
    """One toolkit, and the services whose environment leads to it (unit, variable)."""

    toolkit: Toolkit
    users: tuple[tuple[str, str], ...] = ()


def toolkits_json(uses: Sequence[Use]) -> dict[str, Any]:
    """All toolkits as one object."""
    return {
        "schema": SCHEMA,
        "toolkits": [
            {
                "root": use.toolkit.root,
                "real_root": use.toolkit.real_root,
                "version": dotted(use.toolkit.version) if use.toolkit.version else None,
                "headers_version": dotted(use.toolkit.headers_version) if use.toolkit.headers_version else None,
                "origin": use.toolkit.origin,
                "architectures": _ordered(use.toolkit.architectures),
                "components": sorted(use.toolkit.components),
                "missing": [part for part in NEEDED if part not in use.toolkit.components],
                "used_by": [{"unit": unit, "through": variable} for unit, variable in use.users],
            }
            for use in uses
        ],
    }


def toolkits_text(uses: Sequence[Use], columns: int = 80) -> str:
    """A paragraph for each folder that is a toolkit."""
    if not uses:
        return "There is no CUDA toolkit on this machine."
    return "\n\n".join(_toolkit_text(names, columns) for names in _by_folder(uses))


def _by_folder(uses: Sequence[Use]) -> list[list[Use]]:
    """The uses of each folder together, whose own name comes before the links to it. What counts in /usr does not in a
    link to it."""
    folders: dict[str, list[Use]] = {}
    for use in uses:
        kit = use.toolkit
        folders.setdefault(kit.real_root if kit.real_root != "/usr" else kit.root, []).append(use)
    return [sorted(names, key=lambda use: use.toolkit.root != use.toolkit.real_root) for names in folders.values()]


def _toolkit_text(names: Sequence[Use], columns: int) -> str:
    kit = names[0].toolkit
    missing = [part for part in NEEDED if part not in kit.components]
    origin = "origin unknown" if kit.origin == "unknown" else f"from {kit.origin}"
    title = f"{kit.root}: CUDA {dotted(kit.version)}, {origin}"
    if kit.real_root != kit.root:
        title += f" (is {kit.real_root})"
    if len(names) > 1:
        title += f"; also {', '.join(use.toolkit.root for use in names[1:])}"
    pairs = [("parts", "complete" if not missing else f"lacks {', '.join(missing)}")]
    if kit.architectures:
        pairs.append(("targets", " ".join(_ordered(kit.architectures))))
    if kit.headers_version and not kit.version:
        pairs.append(("headers", f"of CUDA {dotted(kit.headers_version)}"))
    elif kit.headers_version and kit.version and kit.headers_version[:2] != kit.version[:2]:
        pairs.append(("headers", f"of CUDA {dotted(kit.headers_version)}: not the compiler's release"))
    if kit.why:
        pairs.append(("note", kit.why))
    users = tuple(dict.fromkeys(user for use in names for user in use.users))
    pairs.append(("used by", _users_text(users) or "no service"))
    return wrap(title, columns=columns) + "\n" + rows(pairs, columns)


def _users_text(users: Sequence[tuple[str, str]]) -> str:
    """Each service once, with all that leads it there: ``a.service (CUDA_HOME, PATH)``."""
    through: dict[str, list[str]] = {}
    for unit, variable in users:
        through.setdefault(unit, []).append(variable)
    return ", ".join(f"{unit} ({', '.join(variables)})" for unit, variables in through.items())


def _ordered(architectures: frozenset[str]) -> list[str]:
    """As compute capabilities grow: 90 before 120."""
    return sorted(architectures, key=lambda name: (len(name), name))
