"""What is tried in the twin before the service is touched: the proof of a plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping

from remedy.change.twin import Probed, Proof, Twin
from remedy.jit.types import Resolution
from remedy.plan.types import Plan
from remedy.road import Look
from remedy.unit.types import Launch, Service

Tell = Callable[[str], None]
Try = Callable[[Tell], str | None]
# What gcc, nvcc and its parts, the linker and a shell say when they refuse.
_COMPLAINTS = (
    ": error:", ": fatal error:", "): error", "nvcc fatal", "ptxas fatal", "cannot find -l", ": not found",
    ": Permission denied", "Error: [Errno",
)  # fmt: skip


def prover(seen: Look, plan: Plan, service: Service, launch: Launch) -> Try | None:
    """The proof in the twin, None where no library that compiles here has a probe."""
    sources = probes(seen.resolutions)
    if not sources or launch.interpreter is None:
        return None
    interpreter = launch.interpreter

    def prove(tell: Tell) -> str | None:
        from remedy.change.twin import prove as run
        from remedy.jit import resolve_all
        from remedy.jit.devices import in_order
        from remedy.value import replace

        def report(result: Probed) -> None:
            tell(f"{result.library}: {'built and loaded' if result.ok else 'failed'} in {result.seconds:.1f} s")

        context = replace(seen.context, env=launch.variables())
        expected, gpus = resolve_all(context), in_order(context)
        twin = Twin(
            service,
            interpreter,
            launch.variables(),
            expander(seen, service),
            sources,
            cache_folders(expected, sources),
            # What is known need not be asked of the GPU, which the service may fill to the last byte.
            arguments={name: {"capability": gpus[0] if gpus else None} for name in sources},
        )
        proof = run(twin, report)
        for words in surprises(expected, proof.results):
            tell(words)
        return why_not(proof) or disagreement(plan, proof.results)

    return prove


def proven(seen: Look) -> tuple[str, ...]:
    """The libraries of which the twin has to build a kernel."""
    return tuple(probes(seen.resolutions)) if seen.launch.interpreter is not None else ()


def why_not(proof: Proof) -> str | None:
    """Why a proof failed, with the line that says so; None where it did not."""
    failed = next((result for result in proof.results if not result.ok), None)
    return f"{failed.library}: {telling_line(failed.error)}" if failed else proof.why


def disagreement(plan: Plan, results: Iterable[Probed]) -> str | None:
    """Where a library took another toolkit than the planned one: the library is right, and the plan is not."""
    for result in results:
        taken = result.toolkit
        if plan.toolkit and taken and os.path.realpath(taken) != os.path.realpath(plan.toolkit):
            return f"{result.library} takes {taken}, not {plan.toolkit}"
    return None


def surprises(expected: Iterable[Resolution], results: Iterable[Probed]) -> Iterator[str]:
    """Where a library took another toolkit than remedy's model of it says: worth telling, the library is right."""
    models = {one.library: one for one in expected}
    for result in results:
        model, taken = models.get(result.library), result.toolkit
        if model and model.toolkit and taken and os.path.realpath(taken) != os.path.realpath(model.toolkit):
            yield f"{result.library} takes {taken}, where {model.toolkit} was expected ({model.found_by})"


def cache_folders(expected: Iterable[Resolution], libraries: Iterable[str]) -> tuple[str, ...]:
    """Where these libraries would keep what they build under the planned environment."""
    wanted = frozenset(libraries)
    return tuple(one.cache for one in expected if one.cache and one.library in wanted)


def probes(resolutions: tuple[Resolution, ...]) -> Mapping[str, str]:
    """The probe of every library that a start hangs on and that compiles here, by the library's name."""
    found = {}
    for resolution in resolutions:
        source = probe_source(resolution.library.replace("-", "_"))
        needs = resolution.requires
        if source and (needs.components or needs.host_compiler):
            found[resolution.library] = source
    return found


def probe_source(name: str) -> str | None:
    """The text of one probe; None where there is none of that name."""
    from importlib import resources

    file = resources.files("remedy.jit").joinpath("probes").joinpath(f"{name}.py")
    return file.read_text("utf-8") if file.is_file() else None


def telling_line(text: str) -> str:
    """The line of a failed build that says why: its first refusal, with the cause's id where it is a known one."""
    from remedy.causes.engine import explain

    root = explain(text.splitlines()).root
    known = [evidence.text.strip() for evidence in root.evidence if evidence.kind == "log"]
    said = [line.strip() for line in text.splitlines() if line.strip()]
    telling = _refusals(known) or _refusals(said) or known or said[-1:] or ["no word of why"]
    return telling[0] if root.id == "unknown" else f"{telling[0]} ({root.id})"


def _refusals(lines: list[str]) -> list[str]:
    return [line for line in lines if any(word in line for word in _COMPLAINTS)]


def expander(seen: Look, service: Service) -> Callable[[str], str]:
    """Replaces the specifiers in this unit's values."""
    from remedy.unit.specifiers import Subject

    return Subject(service.name, service.fragment or "", seen.manager, seen.view).expand
