"""The choice of one toolkit for all libraries: what is here, then apt's packages, then PyPI's wheels."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from remedy.facts.types import AptPackage, Toolkit, Version
from remedy.jit import tables
from remedy.jit.requirements import shortfalls
from remedy.jit.types import Context, Requirement
from remedy.jit.versions import dotted
from remedy.plan import packages, wheels
from remedy.plan.demand import Demand, demand_of
from remedy.plan.inputs import Inputs
from remedy.plan.types import BuildToolkit, InstallPackages, Rejected
from remedy.value import dataclass, replace

# The releases that a plan may install: those that the tables know a gcc limit for, and so have been looked at.
RELEASES: Final[tuple[Version, ...]] = (
    (11, 8),
    *((12, minor) for minor in (0, 1, 2, 3, 4, 5, 6, 8, 9)),
    *((13, minor) for minor in range(6)),
)


_APT: Final = "apt: CUDA "
_ABSENT: Final = "in no configured apt repository"


@dataclass(frozen=True)
class Choice:
    """The toolkit as it will be, what installs it (None: it is here), why not the others, what to know of it."""

    kit: Toolkit | None
    step: InstallPackages | BuildToolkit | None = None
    rejected: tuple[Rejected, ...] = ()
    warnings: tuple[str, ...] = ()


def choose(inputs: Inputs, requirement: Requirement) -> Choice:
    """The best toolkit for a joined requirement; ``kit`` is None where no candidate will do.

    A release that only the present host compiler speaks against is taken as the last resort, since another
    compiler can be installed beside it.
    """
    demand = demand_of(requirement, inputs.snapshot)
    rejected: list[Rejected] = []
    for with_compiler in (True, False):
        rejected.clear()
        for candidates in (_present, _from_apt, _from_wheels):
            choice = candidates(inputs, demand, with_compiler)
            rejected.extend(choice.rejected)
            if choice.kit:
                return replace(choice, rejected=tuple(rejected))
    return Choice(None, None, tuple(rejected))


def _present(inputs: Inputs, demand: Demand, with_compiler: bool) -> Choice:
    """The best of the toolkits that are here."""
    in_use = {inputs.view.realpath(one.toolkit) for one in inputs.resolutions if one.toolkit}
    fitting: list[Toolkit] = []
    rejected: dict[str, Rejected] = {}
    # A root with a variable that systemd did not expand is no place that could hold one.
    hollow = dict.fromkeys(
        kit.real_root for kit in inputs.snapshot.toolkits if kit.nvcc is None and "$" not in kit.root
    )
    for kit in (versioned(kit) for kit in inputs.snapshot.toolkits if kit.nvcc):
        why = objection_to(kit, demand, inputs.context, with_compiler)
        if why is None:
            fitting.append(kit)
        else:
            rejected.setdefault(kit.real_root, Rejected(kit.root, why))
    if hollow:
        rejected["hollow"] = Rejected(", ".join(hollow), "no nvcc there")
    if not fitting:
        return Choice(None, None, tuple(rejected.values()))

    def rank(kit: Toolkit) -> tuple[tuple[int, int, int, int], bool, bool]:
        return demand.preference((kit.version or ())[:2]), kit.real_root not in in_use, kit.root != kit.real_root

    best = min(fitting, key=rank)
    others = {kit.real_root: kit for kit in fitting if kit.real_root != best.real_root}
    better = (
        f"{best.root} is closer to torch's CUDA {dotted(demand.torch)}" if demand.torch else f"{best.root} also fits"
    )
    rejected.update({root: Rejected(kit.root, better) for root, kit in others.items()})
    return Choice(best, None, tuple(rejected.values()), beyond_driver(best.version, demand))


def versioned(kit: Toolkit) -> Toolkit:
    """A toolkit under the place that names its release where its root is a link that may move (/usr/local/cuda)."""
    if kit.nvcc is None or re.search(r"\d\.\d", posixpath.basename(kit.root)) or kit.real_root == kit.root:
        return kit
    return replace(kit, root=kit.real_root, nvcc=posixpath.join(kit.real_root, "bin/nvcc"))


def objection_to(kit: Toolkit, demand: Demand, context: Context, with_compiler: bool = True) -> str | None:
    """Why a toolkit that is here can't serve, in one clause; None where it can."""
    if kit.version is None or kit.closed:
        return kit.why or f"the version of {kit.nvcc} is not known"
    if kit.origin == "debian":
        return f"Debian's own CUDA {dotted(kit.version)} is spread over /usr: no CUDA_HOME fits it"
    why = demand.objection(kit.version[:2], host_compiler=with_compiler)
    if why:
        return why
    for problem in shortfalls(demand.requirement, kit, context):
        if with_compiler or not problem.cause.startswith("host-compiler"):
            return problem.text
    return None


def beyond_driver(version: Version | None, demand: Demand) -> tuple[str, ...]:
    """A warning where the toolkit is of a newer minor release than the driver."""
    offered = demand.driver.cuda[:2] if demand.driver and demand.driver.cuda else None
    if not version or not offered or version[:2] <= offered:
        return ()
    return (
        f"CUDA {dotted(version[:2])} is newer than the driver's {dotted(offered)}: compiled kernels run, "
        "but PTX (+PTX builds) will not load",
    )


def releases_for(demand: Demand, with_compiler: bool, releases: Iterable[Version] = RELEASES) -> list[Version]:
    """The releases that nothing speaks against, best first."""
    fitting = [release for release in releases if demand.objection(release, host_compiler=with_compiler) is None]
    return sorted(fitting, key=demand.preference)


def _from_apt(inputs: Inputs, demand: Demand, with_compiler: bool) -> Choice:
    """The best release that apt can install or complete."""
    releases = releases_for(demand, with_compiler)
    if not releases:
        return Choice(None, None, (Rejected("apt", _no_release(demand)),))
    wanted = {release: _lacking_packages(inputs, demand, release) for release in releases}
    known = inputs.apt.available(sorted({name for names in wanted.values() for name in names}))
    rejected: list[Rejected] = []
    for release in releases:
        choice = _apt_release(inputs, demand, release, wanted[release], known)
        if choice.kit:
            return replace(choice, rejected=tuple(rejected))
        rejected.extend(choice.rejected)
    return Choice(None, None, tuple(_without_repetition(rejected)))


def _without_repetition(rejected: list[Rejected]) -> Iterator[Rejected]:
    """Releases that apt does not know are named together; where there is nothing else, the best speaks for all."""
    absent = [each for each in rejected if _ABSENT in each.why]
    others = [each for each in rejected if each not in absent]
    yield from others or absent[:1]
    if others and absent:
        releases = ", ".join(each.candidate.removeprefix(_APT) for each in absent)
        yield Rejected(_APT + releases, f"they are {_ABSENT}")


def _no_release(demand: Demand) -> str:
    """What stands in the way of the release that would be nearest: of torch's major, and new enough for the GPU."""
    major, minimum = demand.torch[0] if demand.torch else None, demand.requirement.nvcc_minimum or ()
    same = [release for release in RELEASES if major in (None, release[0])] or list(RELEASES)
    near = min([release for release in same if release >= minimum[:2]] or same[-1:], key=demand.preference)
    free = replace(demand, torch=None, requirement=replace(demand.requirement, torch_major=None))
    other = next((release[0] for release in releases_for(free, with_compiler=True)), None)
    way_out = f"; a torch that is built for CUDA {other} would have one" if major and other else ""
    return f"{demand.objection(near)}{way_out}"


def _lacking_packages(inputs: Inputs, demand: Demand, release: Version) -> tuple[str, ...]:
    kit = inputs.snapshot.toolkit_at(packages.toolkit_root(release))
    present = kit.components if kit else frozenset[str]()
    return packages.names(release, (demand.components | demand.requirement.optional) - present)


def _apt_release(
    inputs: Inputs, demand: Demand, release: Version, names: tuple[str, ...], known: Mapping[str, AptPackage]
) -> Choice:
    """One release through apt: its missing packages, if apt has them all and its simulation agrees."""
    root = packages.toolkit_root(release)
    candidate = f"{_APT}{dotted(release)}"
    kit = inputs.snapshot.toolkit_at(root)
    why = _can_be_completed(inputs, kit, release, names)
    if why:
        return Choice(None, None, (Rejected(candidate, why),))
    implied = packages.implied(release, names)
    absent = [name for name in names if name not in known and name not in implied]
    needed = [name for name in absent if packages.brought(release, (name,)) & demand.components]
    if needed:
        return Choice(None, None, (Rejected(candidate, _not_to_be_had(inputs, needed)),))
    requested = tuple(f"{name}={known[name].version}" for name in names if name in known)
    simulation = inputs.apt.simulate(requested)
    if simulation.errors:
        return Choice(None, None, (Rejected(candidate, f"apt refuses: {simulation.errors[0]}"),))
    step = InstallPackages(requested, simulation.changes, root, reason=_reason(demand, release, kit))
    brought = packages.brought(release, (name for name in names if name in known or name in implied))
    planned = completed(kit, root, release, brought, "apt")
    return Choice(planned, step, (), beyond_driver(release, demand))


def _not_to_be_had(inputs: Inputs, names: list[str]) -> str:
    """Why apt has no candidate of these: they are pinned out, or no repository that it has read holds them."""
    verb = "is" if len(names) == 1 else "are"
    withheld = inputs.apt.withheld(names)
    if withheld:
        first = next(iter(withheld))
        return f"apt's preferences keep out {', '.join(withheld)} (apt-cache policy {first} shows the pin)"
    advice = packages.how_to_get(inputs.snapshot.host, inputs.view)
    return f"{', '.join(names)} {verb} {_ABSENT}; {advice}"


def _can_be_completed(inputs: Inputs, kit: Toolkit | None, release: Version, names: tuple[str, ...]) -> str | None:
    """Why packages can't complete what stands at the release's root; None where they can, or nothing is there."""
    if kit and kit.closed:
        return kit.why
    present = [name for name in names if name in inputs.snapshot.installed]
    if present:
        return (
            f"{present[0]} is installed, but its files are missing under {packages.toolkit_root(release)}: "
            f"apt-get install --reinstall {' '.join(present)}"
        )
    if kit is None or not kit.components:
        return None
    if not names:
        return f"{kit.root} lacks nothing that packages could bring"
    if kit.version and kit.version[:2] != release:
        return f"{kit.root} holds CUDA {dotted(kit.version)}, which is not what its name says"
    if kit.headers_version and kit.headers_version[:2] != release:
        return f"{kit.root} holds headers of CUDA {dotted(kit.headers_version)}"
    if kit.origin == "runfile":
        return f"{kit.root} was put there by NVIDIA's runfile: packages would overwrite its files"
    return None


def _reason(demand: Demand, release: Version, kit: Toolkit | None) -> str:
    if kit and kit.nvcc:
        return f"completes the CUDA {dotted(release)} that is here"
    if demand.torch == release:
        return f"CUDA {dotted(release)} is what torch was built for"
    if demand.torch:
        return f"the closest release to torch's CUDA {dotted(demand.torch)} that this GPU and these libraries accept"
    return f"CUDA {dotted(release)} is the first that this GPU and these libraries accept"


def completed(kit: Toolkit | None, root: str, release: Version, added: frozenset[str], origin: str) -> Toolkit:
    """The toolkit at a root as it will be with these components added."""
    present = kit.components if kit else frozenset[str]()
    return Toolkit(
        root=root,
        nvcc=posixpath.join(root, "bin/nvcc"),
        version=release,
        headers_version=release,
        components=present | added,
        origin=kit.origin if kit and kit.components else origin,
        real_root=root,
        architectures=tables.targets_known(release),
    )


def _from_wheels(inputs: Inputs, demand: Demand, with_compiler: bool) -> Choice:
    """The best release that PyPI's wheels can be laid out as."""
    architecture = inputs.snapshot.host.architecture
    if architecture not in ("x86_64", "aarch64"):
        return Choice(None, None, (Rejected("PyPI wheels", f"there are none for {architecture or 'this machine'}"),))
    releases = releases_for(demand, with_compiler, wheels.releases())
    if not releases:
        why = "PyPI has an nvcc only for CUDA 13, which does not fit here"
        return Choice(None, None, (Rejected("PyPI wheels", why),))
    rejected: list[Rejected] = []
    for release in releases:
        asked = demand.components | demand.requirement.optional
        requirements, lacking = wheels.pins(release, asked)
        if lacking & demand.components:
            why = f"there is no wheel of this release for {', '.join(sorted(lacking & demand.components))}"
            rejected.append(Rejected(f"PyPI wheels: CUDA {dotted(release)}", why))
            continue
        root = _free_root(inputs, posixpath.join(wheels.PREFIX, f"cuda-{dotted(release)}"))
        kit = completed(None, root, release, asked - lacking, "remedy")
        step = BuildToolkit(requirements, root, reason=_reason(demand, release, None))
        return Choice(kit, step, tuple(rejected), beyond_driver(release, demand))
    return Choice(None, None, tuple(rejected))


def _free_root(inputs: Inputs, root: str) -> str:
    """A folder that nothing stands in: what was laid out before and lacks something now may be in use elsewhere."""
    names = (root, *(f"{root}-{number}" for number in range(2, 100)))
    return next(name for name in names if inputs.view.lstat(name) is None)
