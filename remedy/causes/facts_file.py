"""The facts file of ``remedy explain - --facts FILE``: JSON that a person may have written by hand.

Unknown keys and values that don't parse are ignored: half a fact sheet is better than none. Versions are taken from
the first dotted number of a text ("12.8 (system), then 13.3 (pip)" is 12.8).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite

from remedy.causes.types import PartialFacts
from remedy.errors import UsageError
from remedy.facts.types import Version


def load(data: bytes | str, name: str = "facts file") -> PartialFacts:
    """Parse the file's text, in UTF-8, -16 or -32. Raises UsageError where it is no JSON object; ``name`` is the
    file's, for the message."""
    import json

    text = data if isinstance(data, str) else data.decode(json.detect_encoding(data), "replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name}: not JSON: {error}", hint='give an object such as {"nvcc": "12.8"}') from None
    if not isinstance(found, dict):
        raise UsageError(f"{name}: holds no JSON object", hint='give an object such as {"nvcc": "12.8"}')
    return from_mapping(found)


def version(value: object) -> Version | None:
    """The first version number in a value: ``"13.0.88"`` or ``"V12.8 (system)"`` or 12.8; None where there is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    found = re.search(r"\d{1,4}(?:\.\d{1,4}){0,3}", str(value))
    return tuple(int(part) for part in found[0].split(".")) if found else None


def dotted_version(value: object) -> Version | None:
    """Like ``version``, but only a number with a dot: the "2" of "2 GPUs" is none."""
    found = version(value)
    return found if found and len(found) > 1 else None


def capability(value: object) -> tuple[int, int] | None:
    """A compute capability: "12.0", "sm_120", "sm120a", 12.0 or 120."""
    text = str(value)
    found = re.search(r"(\d{1,2})\.(\d)", text)
    if found:
        return int(found[1]), int(found[2])
    found = re.search(r"(?<!\d)(\d{1,2})(\d)[af]?(?!\d)", text)
    return (int(found[1]), int(found[2])) if found else None


def _text(value: object) -> str | None:
    known = isinstance(value, str | int | float) and not isinstance(value, bool)
    # JSON can escape half of a surrogate pair, which can't be written again.
    return str(value).encode(errors="replace").decode() or None if known else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if isfinite(found) else None


def _names(value: object) -> tuple[str, ...]:
    named = value if isinstance(value, list) else [value]
    return tuple(name for item in named if isinstance(item, str) and (name := _text(item)))


def _environment(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {_text(name) or "": _text(text) or "" for name, text in value.items() if isinstance(text, str | int | float)}


def from_mapping(found: Mapping[str, object]) -> PartialFacts:
    """The facts that are there and parse. GPUs named without ``sm`` get their capability from their name."""
    gpu = _text(found.get("gpu"))
    sm = capability(found["sm"]) if found.get("sm") is not None else None
    driver = _driver(found.get("driver"))
    return PartialFacts(
        gpu=gpu,
        sm=sm or (capability_of_name(gpu) if gpu else None),
        torch=dotted_version(found.get("torch")),
        torch_cuda=dotted_version(found.get("torch_cuda")),
        nvcc=dotted_version(found.get("nvcc")),
        cuda_headers=dotted_version(found.get("cuda_headers")),
        driver=driver,
        flashinfer=_text(found.get("flashinfer")),
        gcc=version(found.get("gcc")),
        os=_text(found.get("os")),
        env=_environment(found.get("env")),
        cuda_home=_text(found.get("cuda_home")),
        unit=_text(found.get("unit")),
        kernel_module=dotted_version(found.get("kernel_module")),
        driver_packages=dotted_version(found.get("driver_packages")),
        linked_cudart=_text(found.get("linked_cudart")),
        silent_s=_number(found.get("silent_s")),
        lock_files=_names(found.get("lock_files")),
        note=_text(found.get("note")),
    )


def _driver(value: object) -> Version | None:
    """A driver version: three digits before the dot. "560 (12060)" is 560."""
    found = re.search(r"(?<!\d)(\d{3})(?:\.(\d{2,3}))?(?:\.(\d{2}))?(?!\d)", str(value)) if value is not None else None
    return tuple(int(part) for part in found.groups() if part) if found else None


# What people write of their GPU, most telling first; only unambiguous names.
_NAMES: tuple[tuple[str, tuple[int, int]], ...] = (
    (r"GB10\b|DGX Spark", (12, 1)),
    (r"RTX PRO \d{4}|RTX 50\d0|\b50[6-9]0\b", (12, 0)),
    (r"\bG?B300\b", (10, 3)),
    (r"\bG?B200\b", (10, 0)),
    (r"\bG?H(?:100|200|20|800)\b", (9, 0)),
    (r"RTX 40\d0|\bL40S?\b|\bL4\b|\bL20\b|6000 Ada|\b40[6-9]0\b", (8, 9)),
    (r"Orin", (8, 7)),
    (r"\bA100\b|\bA800\b|\bA30\b", (8, 0)),
    (r"RTX 30\d0|\bA10G?\b|\bA40\b|\bA[456]000\b|\b30[6-9]0\b", (8, 6)),
    (r"\bT4\b|RTX 20\d0|GTX 16\d0|\b20[678]0\b", (7, 5)),
    (r"\bV100\b|Titan V\b", (7, 0)),
    (r"GTX 10\d0|\bP40?\b|Titan Xp?\b", (6, 1)),
    (r"\bP100\b", (6, 0)),
    (r"GTX 9\d0|\bM40\b|\bM60\b", (5, 2)),
)


def capability_of_name(name: str) -> tuple[int, int] | None:
    """The compute capability of a GPU that is named; None for names that are not known, or of several kinds."""
    found = {capability for pattern, capability in _NAMES if re.search(pattern, name, re.IGNORECASE)}
    return next(iter(found)) if len(found) == 1 else None
