"""What a server program changes in the environment before the libraries that it hosts look at it."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from remedy.jit import lookup
from remedy.jit.types import Context
from remedy.jit.versions import at_least, between
from remedy.value import replace


def version(context: Context, name: str) -> str | None:
    """The version of an installed distribution in the service's interpreter."""
    interpreter = context.snapshot.interpreter
    return interpreter.dist_version(name) if interpreter else None


def runs(context: Context, server: str, low: str = "0", below: str | None = None) -> bool:
    """Whether this server hosts the process, in a version of this range.

    A server whose version is not known (run from a source tree) counts as within every range.
    """
    if context.server != server:
        return False
    found = version(context, server)
    if found is None:
        return True
    return between(found, low, below) if below else at_least(found, low)


def surely_runs(context: Context, server: str, low: str, below: str | None = None) -> bool:
    """Whether this server hosts the process, in a version that is known and of this range."""
    return version(context, server) is not None and runs(context, server, low, below)


def asks_for(context: Context, word: str) -> bool:
    """Whether the server's command line names something (a quantisation, a model of that kind)."""
    return any(word in part.lower() for part in context.argv)


def model_says(context: Context, word: str) -> bool:
    """Whether the configuration of the model that is served names something; False where it is in no local folder."""
    folder = option(context, "--model-path") or option(context, "--model") or ""
    if not folder.startswith("/"):
        return False
    try:
        text = context.view.read(posixpath.join(folder, "config.json"))
    except OSError:
        return False
    return word.encode() in text.lower()


def option(context: Context, name: str) -> str | None:
    """The value of a command line option, ``--name value`` or ``--name=value``; the last one counts."""
    found = None
    for index, word in enumerate(context.argv):
        if word == name and index + 1 < len(context.argv):
            found = context.argv[index + 1]
        elif word.startswith(f"{name}="):
            found = word.partition("=")[2]
    return found


def effective(context: Context) -> Context:
    """The context with the server's own settings applied, as its libraries see it."""
    added = _sglang(context)
    return replace(context, env={**context.env, **added}) if added else context


def _sglang(context: Context) -> Mapping[str, str]:
    """SGLang moves other libraries' caches: ``redirect_third_party_caches`` from 0.5.18 on (the unit's own
    variables win), and DeepGEMM's in every version (they don't). A version that is not known moves nothing.
    """
    found = version(context, "sglang")
    if context.server != "sglang" or found is None:
        return {}
    env, home = context.env, lookup.home(context)
    base = env.get("SGLANG_CACHE_DIR") or posixpath.join(home, ".cache/sglang")
    moved = at_least(found, "0.5.18")
    gemm = posixpath.join(base, "deep_gemm") if moved else posixpath.join(home, ".cache/deep_gemm")
    added = {"DG_JIT_CACHE_DIR": env.get("SGLANG_DG_CACHE_DIR") or gemm}
    if moved:
        places = {
            "TRITON_CACHE_DIR": posixpath.join(base, "triton"),
            "TORCHINDUCTOR_CACHE_DIR": posixpath.join(base, "inductor"),
            "CUDA_CACHE_PATH": posixpath.join(base, "nv"),
            "FLASHINFER_WORKSPACE_BASE": base,
        }
        if at_least(found, "0.5.23"):
            places["TILELANG_CACHE_DIR"] = posixpath.join(base, "tilelang")
        added.update({name: path for name, path in places.items() if name not in env})
    return added
