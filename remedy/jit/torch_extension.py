"""torch.utils.cpp_extension of torch 2: extensions that are compiled when a program first loads them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from remedy.hints import Final
from remedy.jit import caches, devices, judge, lookup, servers, tables, torch_archs, tvm_ffi
from remedy.jit.types import Context, Problem, Requirement, Resolution
from remedy.jit.versions import at_least, cuda, dotted
from remedy.value import replace


def build_root(context: Context) -> str:
    """TORCH_EXTENSIONS_DIR as it stands, else a folder named after Python's and torch's versions below the cache."""
    named = context.env.get("TORCH_EXTENSIONS_DIR")
    if named:
        return named
    interpreter = context.snapshot.interpreter
    python = "".join(str(part) for part in (interpreter.version or ())[:2]) if interpreter else ""
    accelerator = "cpu"
    if interpreter and interpreter.torch_hip:
        accelerator = f"rocm{interpreter.torch_hip.replace('.', '')}"
    elif interpreter and interpreter.torch_cuda:
        accelerator = f"cu{interpreter.torch_cuda.replace('.', '')}"
    return posixpath.join(lookup.cache_home(context), "torch_extensions", f"py{python}_{accelerator}")


def driver_problems(torch: str, context: Context) -> Iterator[Problem]:
    """A driver of an older CUDA major than torch's; minor versions are compatible (CUDA compatibility guide)."""
    interpreter, driver = context.snapshot.interpreter, context.snapshot.driver
    built = cuda(interpreter.torch_cuda) if interpreter else None
    if built is None or driver is None or "compat" in context.env.get("LD_LIBRARY_PATH", ""):
        return
    major = tables.driver_major(driver.library or driver.kernel_module, driver.cuda)
    if major is not None and major < built[0]:
        version = driver.library or driver.kernel_module or "?"
        minimum = tables.DRIVER_MINIMUM.get(built[0])
        needs = f"; it needs driver {minimum[0]}.{minimum[1]:02d} or later" if minimum else ""
        text = f"torch {torch} is built for CUDA {dotted(built)}, driver {version} runs CUDA {major}{needs}"
        yield Problem("driver-too-old", text, (f"the driver is {version}",), context.server != "")


def _list_problems(torch: str, context: Context) -> Iterator[Problem]:
    """A TORCH_CUDA_ARCH_LIST that torch refuses, or that leaves out a GPU that is here. Only builds ever notice."""
    text = context.env.get(torch_archs.VARIABLE)
    if not text or text == "native":
        return
    archs, facts = torch_archs.from_list(torch, text), (f"{torch_archs.VARIABLE}={text}",)
    if archs.error:
        said = f"{torch_archs.VARIABLE}={text!r} is refused by torch {torch}: {archs.error}"
        yield Problem("arch-list-wrong", said, facts, False, torch_archs.VARIABLE)
        return
    for one in devices.visible(context):
        if not any(tables.runs_on(target, one) for target in archs.targets) and not archs.forward:
            said = f"{torch_archs.VARIABLE}={text} names nothing that GPU {dotted(one)} can run"
            yield Problem("arch-list-wrong", said, facts, False, torch_archs.VARIABLE)
            return


def _lock_problems(torch: str, context: Context, folder: str) -> Iterator[Problem]:
    """A FileBaton: up to 2.13 a file that exists is a lock that is held. With nothing running, nobody holds it."""
    if at_least(torch, "2.14") or servers.surely_runs(context, "sglang", "0.5.23"):
        return
    yield from caches.locked(context, f"torch {torch}", folder, fatal=caches.idle(context))


class TorchExtension:
    """C++ and CUDA sources that ``load`` and ``load_inline`` build; most services load none that need nvcc."""

    name = "torch"
    rank = 60
    frames = ("/torch/utils/cpp_extension.py", "/torch_extensions/")

    def resolve(self, version: str, context: Context) -> Resolution:
        """What this release would do here. A toolchain fault stops nothing by itself: no build is known of."""
        found, folder = lookup.usual(context), build_root(context)
        archs = torch_archs.for_context(context)
        base = tvm_ffi.requirement(context, frozenset(archs.targets), devices.visible(context), optional=True)
        needs = Requirement(
            nvcc_below=base.nvcc_below,
            torch_major=base.torch_major,
            optional=base.optional,
        )
        one = judge.build(f"torch {version}", found, base, context, fatal=False, link_folders=("lib64",))
        mismatch = tuple(judge.nvcc_matches_torch(one))
        problems = (
            *driver_problems(version, context),
            *mismatch,
            *_list_problems(version, context),
            *_lock_problems(version, context, folder),
        )
        answer = judge.resolution(
            one,
            self.name,
            version,
            problems=problems,
            cache=folder,
            variables=("CUDA_HOME", "CUDA_PATH", "PATH", "TORCH_CUDA_ARCH_LIST", "TORCH_EXTENSIONS_DIR", "CC", "CXX"),
        )
        return replace(answer, requires=needs)


LIBRARY: Final = TorchExtension()
