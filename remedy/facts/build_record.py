"""What a JIT module was built with, from the ninja file that its library wrote beside it."""

from __future__ import annotations

import posixpath
import re

from remedy.pattern import pattern
from remedy.value import dataclass

_ASSIGNMENT = pattern(r"^(\w+) *= *(.*)$", re.MULTILINE)
_REFERENCE = pattern(r"\$(?:(\w+)|\{([\w.]+)\})")
#: ``-gencode=arch=compute_120f,code=sm_120f`` and ``-arch=sm_90a``.
_TARGET = pattern(r"(?:code=\[?\"?(?:sm|compute)_|-arch[= ](?:sm|compute)_)(\d+[af]?)")
_MAX_DEPTH = 8


@dataclass(frozen=True)
class BuildRecord:
    """The toolkit root and compiler that a build.ninja names, and the architectures it has nvcc generate."""

    cuda_home: str | None = None
    nvcc: str | None = None
    targets: frozenset[str] = frozenset()


def parse_build_ninja(text: str) -> BuildRecord:
    """Read the top-level variables of a build.ninja as FlashInfer, torch and TVM-FFI write them."""
    text = re.sub(r"\$\n\s*", "", text)
    variables = {name: value.strip() for name, value in _ASSIGNMENT.findall(text)}
    command = _expand(variables.get("nvcc", ""), variables).split()
    # A launcher such as ccache may stand before the compiler.
    nvcc = next((word for word in command if posixpath.basename(word) == "nvcc"), command[-1] if command else None)
    home = _expand(variables.get("cuda_home", ""), variables)
    if not home and nvcc and nvcc.endswith("/bin/nvcc"):
        home = nvcc.removesuffix("/bin/nvcc")
    return BuildRecord(home or None, nvcc, frozenset(_TARGET.findall(text)))


def _expand(value: str, variables: dict[str, str], depth: int = 0) -> str:
    """A value with its ``$name`` and ``${name}`` references replaced; what refers to itself stays."""
    if depth == _MAX_DEPTH:
        return value
    return _REFERENCE.sub(lambda name: _expand(variables.get(name[1] or name[2], ""), variables, depth + 1), value)
