"""torch's Inductor: Triton kernels and C++ that ``torch.compile`` makes (``torch/_inductor``)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from remedy.hints import Final
from remedy.jit import caches, lookup
from remedy.jit.types import Context, Problem, Requirement, Resolution


def cache(context: Context) -> str:
    """TORCHINDUCTOR_CACHE_DIR, else a folder of the user's name in the temporary folder."""
    named = context.env.get("TORCHINDUCTOR_CACHE_DIR")
    temporary = next((found for name in ("TMPDIR", "TEMP", "TMP") if (found := context.env.get(name))), "/tmp")
    return named or posixpath.join(temporary, f"torchinductor_{context.user}")


def _compiler_problems(context: Context) -> Iterator[Problem]:
    """$CXX, else g++: only what is compiled for the CPU needs it, so that a GPU service mostly goes on without."""
    name, path = lookup.command(context, "CXX", "g++")
    if path is None:
        variable = "CXX" if context.env.get("CXX") else None
        yield Problem("host-compiler-missing", f"torch.compile finds no working {name}", (), False, variable)


class Inductor:
    """The back end of torch.compile; not a distribution of its own."""

    name = "inductor"
    rank = 65
    frames = ("/torch/_inductor/", "/torch/_dynamo/")

    def resolve(self, version: str, context: Context) -> Resolution:
        """What this release would do here; PrivateTmp= and cleaners of /tmp empty its default cache."""
        folder = cache(context)
        problems = (
            *_compiler_problems(context),
            *caches.writable(context, "torch.compile", folder, fatal=context.server == "vllm"),
        )
        return Resolution(
            library=self.name,
            version=version,
            found_by="bundled",
            requires=Requirement(),
            problems=problems,
            cache=folder,
            variables=("CXX", "TORCHINDUCTOR_CACHE_DIR", "TMPDIR", "CUDACXX", "CUDA_HOME"),
        )


LIBRARY: Final = Inductor()
