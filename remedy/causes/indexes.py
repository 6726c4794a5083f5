"""What package managers say of their indexes: that nothing there fits, or that they were not reached."""

from __future__ import annotations

from remedy.causes.case import Case, claim_from
from remedy.causes.entry import Claim, Signature, Weight, any_of
from remedy.hints import Final

# uv, of requirements that exclude one another, and of a name that no index has
NO_SOLUTION: Final = Signature("No solution found when resolving", weak=True, library="uv")
UNREGISTERED: Final = Signature("was not found in the package registry", r"(?P<module>[\w.-]+) was not", weak=True)
# pip and conda, of what no index holds for this Python and machine
_NO_RELEASE: Final = (
    Signature("o matching distribution found for", r"found for (?P<module>[\w.-]+)", weak=True, library="pip"),
    Signature("version that satisfies the requirement", r"requirement (?P<module>[\w.-]+)", weak=True, library="pip"),
    Signature("PackagesNotFoundError", weak=True, library="conda"),
    # a wheel, and uv's word for a distribution, for another platform or Python
    *any_of(
        "is not a supported wheel on this platform",
        "or wheel for the current platform",
        pattern=r"(?P<module>[A-Za-z]\w+)-[\w.+-]+\.whl is not a supp"
        r"|Distribution [`'](?P<module2>[\w.-]+?)(?:==| @|`)",
        weak=True,
    ),
    UNREGISTERED,
)
# In an index that does not answer pip finds nothing, either.
_UNANSWERED: Final = any_of("connection broken by", "Could not fetch URL", pattern="", weak=True)

SIGNATURES: Final = (*_NO_RELEASE, *_UNANSWERED)


def no_release(case: Case) -> Claim | None:
    """A package that could not be installed, for there is none for this Python and this machine."""
    if case.has(*_UNANSWERED):
        return None
    return claim_from(
        case.hits(*_NO_RELEASE),
        certainty="likely",
        weight=Weight.NOTED,
        summary="The index holds no release of {module} for this Python and this machine.||The index holds no release "
        "of it for this Python and this machine.",
        advice="Install with a Python that its releases are made for (Requires-Python), or from the index or the "
        "source that its installation guide names.",
    )
