"""One of FlashInfer's own modules, built into the service's own cache ahead of its start; run in the twin."""

from __future__ import annotations

import glob
import importlib
import inspect
import os
import pathlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

# gen_jit_spec sets these itself and nvcc takes each of them once; the rest is for the new toolchain to decide.
OWN = re.compile(r"-gencode=|-O\d$|--threads=|-std=c\+\+17$|-L|-static-global-template-stub|-ccbin$|-isystem$")


class NotForeseen(Exception):
    """The module can't be built from outside: the service builds it itself, as it always did."""


def probe(work: str, name: str, path: str) -> dict[str, str]:  # noqa: ARG001
    """Build the module; returns how. ``path`` is where it must come to lie."""
    spec = generated(name)
    if spec is not None:
        check(spec, path)
        # Verbose: ninja's lines go to standard error, where they are counted.
        spec.build(verbose=True)
        return {"how": "generator"}
    try:
        spec = recorded(name, record(name, path)) or registered(name)
        check(spec, path)
        spec.build(verbose=True)
    except Exception as error:
        raise NotForeseen(name + " can't be made from outside: " + str(error)) from error
    return {"how": "record"}


def check(spec: Any, path: str) -> None:
    """Raise NotForeseen where the module would come to lie elsewhere: nothing would take it away again."""
    if spec is None:
        raise NotForeseen("no generator makes it, and there is no earlier build record")
    folder = getattr(spec, "build_dir", None) or pathlib.Path(spec.ninja_path).parent
    if os.path.realpath(folder) != os.path.realpath(path):
        raise NotForeseen("FlashInfer would build it in " + str(folder) + ", not in " + path)


def generated(name: str) -> Any:
    """The specification that the generator named after the module gives, if it needs no arguments."""
    generator = dict(generators()).get("gen_" + name + "_module")
    spec = generator() if generator else None
    return spec if getattr(spec, "name", None) == name else None


def generators() -> Iterator[tuple[str, Any]]:
    """Every generator of FlashInfer that can be called without arguments."""
    import flashinfer.jit

    modules = [flashinfer.jit]
    for found in pkgutil.walk_packages(flashinfer.jit.__path__, "flashinfer.jit."):
        try:
            modules.append(importlib.import_module(found.name))
        except Exception:
            continue
    for module in modules:
        for name, value in vars(module).items():
            if name.startswith("gen_") and inspect.isfunction(value) and not needs_arguments(value):
                yield name, value


def needs_arguments(function: Any) -> bool:
    """Whether a function can't be called as it is."""
    parameters = inspect.signature(function).parameters.values()
    return any(one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters)


def registered(name: str) -> Any:
    """The specification in FlashInfer's own list of its usual modules (0.4.0 on)."""
    from flashinfer import aot
    from flashinfer.jit import core

    if not hasattr(aot, "register_default_modules"):
        return None
    aot.register_default_modules()
    return core.jit_spec_registry.get_all_specs().get(name)


def record(name: str, path: str) -> str:
    """The module's earlier build record, moved aside or of other targets; empty where there is none."""
    above = os.path.dirname(path)
    others = os.path.join(glob.escape(os.path.dirname(os.path.dirname(above))), "*", "cached_ops", name)
    for folder in (*glob.glob(os.path.join(glob.escape(above), ".remedy-*")), *glob.glob(others)):
        try:
            with open(os.path.join(folder, "build.ninja")) as file:
                text = file.read()
        except OSError:
            continue
        if re.search(r"^name = " + re.escape(name) + "$", text, re.M):
            return text
    return ""


def recorded(name: str, text: str) -> Any:
    """The specification behind a build record: its sources, and the flags beyond those that every module gets."""
    from flashinfer.jit import core, cpp_ext

    sources = [pathlib.Path(source) for source in re.findall(r"^build \S+: (?:cuda_)?compile (\S+)", text, re.M)]
    if not sources or not all(source.is_file() for source in sources):
        return None
    old = variables(text)
    plain = variables(cpp_ext.generate_ninja_build_for_op(name, sources, None, None, None, None))
    more: dict[str, Any] = {"needs_device_linking": True} if "rule nvcc_link" in text else {}
    return core.gen_jit_spec(
        name,
        sources,
        extra_cflags=beyond(old["cflags"], plain["cflags"]),
        extra_cuda_cflags=beyond(old["cuda_cflags"], plain["cuda_cflags"]),
        extra_ldflags=beyond(old["ldflags"], plain["ldflags"]),
        extra_include_paths=[pathlib.Path(flag[2:]) for flag in old["common_cflags"] if flag.startswith("-I")],
        **more,
    )


def variables(text: str) -> dict[str, list[str]]:
    """The words of each variable of a ninja file."""
    lines = text.replace("$\n", " ").splitlines()
    pairs = (line.partition(" = ") for line in lines if not line.startswith(" "))
    return {name: value.split() for name, found, value in pairs if found}


def beyond(old: list[str], plain: list[str]) -> list[str]:
    """The flags of a record that come from its module."""
    return [flag for flag in old if flag not in plain and not OWN.match(flag)]
