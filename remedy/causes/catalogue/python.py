"""Python packages that are missing or don't fit one another."""

from __future__ import annotations

import re

from remedy.causes import indexes, other_release
from remedy.causes.case import Case, claim_from
from remedy.causes.catalogue.libraries import LOADED_BUILT, was_to_be_built
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.packages import MISSING, PACKAGE
from remedy.causes.telling import says_only_that
from remedy.hints import Final

# --- python packages ----------------------------------------------------------------------------------------------

_CONFLICT: Final = (
    Signature(
        "cannot import name",
        r"cannot import name '(?P<name>[^']+)' from (?:partially initialized module )?'(?P<package>[^']+)'",
    ),
    Signature("does not recognize this architecture"),
    Signature("CONFIG_MAPPING"),
    Signature("is already used by a Transformers"),
    Signature("ContextualVersionConflict"),
    Signature("VersionConflict"),
    Signature("is required for a normal functioning"),
    # pip of before 20.2, and pip check to this day; then pip's of each time after
    Signature("has requirement", r"\S+ v?\d\S* has requirement \S+[,;]", library="pip"),
    *any_of(
        "but you have",
        "but you'll have",
        pattern=r"requires .{1,60} but you(?:'ll)? have .* which is incompatible",
        library="pip",
    ),
    Signature("The package `", r"requires `[^`]+`, but `\d[^`]*` is installed", library="uv"),
    Signature("ResolutionImpossible"),
    Signature("UnsatisfiableError", library="conda"),
    Signature("rope_scaling` must be a dictionary"),
    Signature("has no attribute", r"module '(?P<package>[\w.]+)' has no attribute '(?P<name>\w+)'"),
    # lazy_loader's words, as huggingface_hub has them; packaging's class, of before it had the parts of a version
    Signature(
        "AttributeError: No ", r"AttributeError: No (?P<package>[A-Za-z][\w.]*) attribute (?P<name>(?!found|named)\w+)$"
    ),
    Signature("ersion' object has no attribute", r"'(?:Legacy)?Version' object has no attribute '(?P<name>\w+)'"),
    Signature("unexpected keyword argument", r"(?:TypeError: .*|\w\(\) )got an unexpected keyword argument"),
    Signature("Unexpected keyword argument", r"TypeError: Unexpected keyword argument '\w+'", library="msgspec"),
    *any_of(
        "upgrade",
        "Upgrade",
        "lease update ",
        pattern=r"(?:(?:[Pp]lease|need to|consider|users to|;) (?:upgrade|update)|\. Upgrade) (?:your |to )?[`'\"]?"
        + PACKAGE,
    ),
    # the package that helps is there, and too old
    *any_of(
        "pgrade",
        "pip install",
        pattern=r"[Uu]pgrade (?:it )?(?:with|via|using):? [`'\"]?pip install"
        r"|(?:Error|Exception): .*pip install (?:-U|--upgrade)\b",
    ),
    Signature(
        "Transformers version",
        r"[Ii]nstalled version of Transformers|version of Transformers is out of date"
        r"|requires (?:the )?[Tt]ransformers",
    ),
    Signature(
        "transformers",
        r"(?:requires|need|install|have) .{0,20}transformers ?(?:>=|==|<|version)"
        r"|transformers[>=<]=?[\d.]+ is required",
    ),
    Signature("not supported for now", r"Model architectures .* are not supported"),
    # a package that is there, of another release than the one asked for
    Signature(
        "requires",
        r"Error: .*\brequires (?:.{1,60}[>=<]=? ?[\d.]+|" + PACKAGE + r" \d[\w.]*).{0,60}(?:; |, |but )"
        r"found (?:version )?[`'\"]?\d",
        needs="found",
    ),
    *any_of(
        ">=",
        "≥",
        "==",
        "at least",
        pattern=r"Error.*\b(?:requires?|needs|available in|only supports) `?(?P<package>"
        + PACKAGE
        + r")`?(?: version)? ?(?:>=|≥|==|at least(?: version)?) ?v?\d(?!.*not installed)"
        + r"|Error: (?:.*\W)?(?P<package2>"
        + PACKAGE
        + r")(?: version)? ?(?:>=|==) ?\d[\w.]* is required\b(?!.*install)",
        needs="Error",
    ),
    Signature("requires at least version", library="transformers"),
    *any_of(
        "is required, but",
        "is required ",
        pattern=r"is required,? {1,30}but (?:found \d|(?P<package>[\w.-]+)==\S+ is installed)"
        r"|(?<!CUDA)(?<!nvcc)(?<!driver) ?>=? ?[\d.]+ is required {1,30}but \d[\w.]* is installed",
    ),
    Signature(
        "ersion must be",
        r"Error: (?P<package>(?!CUDA|cuda|nvcc|NVCC|NVIDIA|NCCL|Python|glibc)\w[\w.-]+) version must be >=? ?\d",
    ),
    *any_of("ersion too old", "ersion is too old", pattern=r"(?P<package>" + PACKAGE + r") version (?:is )?too old"),
    *any_of(
        "ersion must be",
        "inimum ",
        "exceeds version",
        pattern=r"(?P<package>" + PACKAGE + r") version (?:must be (?:at least \d|[\d.]+ or )|\S+ exceeds version)"
        r"|[Mm]inimum (?:" + PACKAGE + r") version [\d.]+ (?:is )?required|(?:" + PACKAGE + r") minimum version "
        r"[\d.]+ is required",
    ),
    Signature("version <", r"cuDNN (?:backend )?version < ?\d"),
    *any_of(
        "lease check",
        "lease make sure",
        pattern=r"[Pp]lease (?:check|make sure) (?:your |that )?(?P<package>" + PACKAGE + r") version",
    ),
    Signature(
        "version of",
        r"version of [`'\"]?(?P<package>[\w.-]+)[`'\"]? (?:that |you are using |\(\d[\w.]*\) )?(?:is not compatible"
        r"|does not support)|not supported in your version of \w|(?:ncompatible version of "
        + PACKAGE
        + r"|ound an incompatible version of (?P<package2>[\w-]+))\b",
    ),
    Signature(
        "nstalled ",
        r"[Ii]nstalled (?!(?:driver|compiler|toolkit|CUDA|GPU|nvcc|NVIDIA|or|and)\b)[A-Za-z][\w+-]*(?: [a-z]+){0,2}"
        r" (?:does not|doesn't) (?:support|provide|expose|have)",
    ),
    Signature("have that version installed"),
    Signature("NVMLLibraryMismatchError"),
    Signature("multiple CuPy packages"),
    Signature("Version mismatch: The cluster was started with", library="ray"),
    # pip's own words
    Signature("dependency conflicts"),
    Signature("conflicting dependencies"),
    Signature("version is wrong", r"(?P<package>\w+) version is wrong"),
    # Dynamo, which embeds Python: a release of the engine that it was not written for
    Signature("Expected ", r"Expected (?P<package>vllm|sglang) version \S+, found \d", library="dynamo"),
    Signature("change?", r"Failed to import [\w.]+\. Did (?P<package>\w+) change\?", library="dynamo"),
    Signature("appear to have mismatched", r"(?P<package>\S+) appear to have mismatched .{0,20}versions"),
    Signature("Unrecognized configuration class"),
    Signature("does not exist or is not currently imported", r"okenizer class (?P<name>\w+)", library="transformers"),
    # a class of transformers, or of a model's own code for another release of it
    Signature(
        "object has no attribute",
        r"AttributeError: '(?P<package>\w+(?:Tokenizer|TokenizerFast|Config|Processor))' object has no attribute"
        r" '(?P<name>\w+)'",
    ),
    # the tokenizers' and processors' own __getattr__, which quotes nothing
    Signature(
        "has no attribute",
        r"(?:^|Error: )(?P<package>\w+(?:Tokenizer|TokenizerFast|Backend|Processor)) has no attribute (?P<name>\w+)",
        library="transformers",
    ),
)
# vLLM looks at a model's class in a process of its own, whose error stands above.
_UNINSPECTED: Final = Signature("failed to be inspected", weak=True, library="vllm")
# Modules whose absence is the sign of a wheel that doesn't fit, not of one that isn't there.
_INNER: Final = r"common_ops|vllm\._|sgl_kernel\.|_moe_C|flash_attn_2_cuda|vllm_flash_attn"
# A module within a package that is there, or Python would name the package; and the line that asks for it. A folder
# that several distributions share is no package.
_INNER_MODULE: Final = Signature(
    "No module named",
    r"ModuleNotFoundError: No module named '(?P<module>(?!google\.|nvidia\.|azure\.|backports\.|zope\.)\w+\.[\w.]+)'$",
    weak=True,
)
_ASKED_FOR: Final = Signature(" import ", r"^\s*from (?P<module>\w+\.[\w.]+) import ", weak=True)
_KEY: Final = Signature("KeyError: '", r"^KeyError: '(?P<model_type>[a-z][\w-]{2,})'$", weak=True)
_TRANSFORMERS: Final = Signature("transformers", r"transformers(?:_utils)?/|configuration_auto", weak=True)
# torch without a NumPy that it could load: one of another major, unless its warning says that there is none.
_NO_NUMPY: Final = Signature("umpy is not available", weak=True, library="torch")
_ABSENT_NUMPY: Final = Signature("initialize NumPy", r"initialize NumPy: No module named '(?P<module>\w+)'", weak=True)
# What follows from a failed compile or a missing GPU in Python code, not from packages.
_FOLLOWS: Final = r"vllm\.utils\.flashinfer|get_device_capability|'func'|JITKernel"


def _conflict(case: Case) -> Claim | None:
    said = case.hits(*_CONFLICT, *other_release.OTHER_RELEASE)
    hits = tuple(hit for hit in said if not re.search(_FOLLOWS, hit.line.text))
    if hits:
        return claim_from(hits)
    asked = {hit.groups["module"] for hit in case.hits(_ASKED_FOR)}
    inner = tuple(
        hit
        for hit in case.hits(_INNER_MODULE)
        if hit.groups["module"] in asked and not re.search(_INNER, hit.line.text)
    )
    if inner:
        return claim_from(inner, certainty="likely")
    keys = case.hits(_KEY)
    if keys and case.has(_TRANSFORMERS):
        return claim_from(keys, certainty="likely")
    if case.has(indexes.NO_SOLUTION) and not case.has(indexes.UNREGISTERED):
        return claim_from(case.hits(indexes.NO_SOLUTION), certainty="likely")
    if case.has(_UNINSPECTED):
        return _uninspected(case)
    if case.has(_NO_NUMPY):
        return None if case.has(_ABSENT_NUMPY) else claim_from(case.hits(_NO_NUMPY), certainty="likely")
    return claim_from(other_release.unfitting(case), certainty="possible", weight=Weight.HINT)


def _uninspected(case: Case) -> Claim | None:
    """A model whose class could not be looked at: of what, nothing else in the log tells."""
    wrapped = r"failed to be inspected|validation errors? for \w+Config|Error in inspecting model"
    if any(not re.search(wrapped, line.text) for line in case.errors if not says_only_that(line.text)):
        return None
    return claim_from(case.hits(_UNINSPECTED), certainty="possible", weight=Weight.NOTED)


# Without the exception's name it is what some programs say of an optional package, and go on.
# Without quotes it is what `python -m` says, where the interpreter's name before it was cut off.
_BARE: Final = Signature(
    "No module named", r"^No module named (?P<quote>'?)(?P<module>(?!encodings)[\w.]+)(?P=quote)$", weak=True
)


# Library code uses a name that it did not get, for it goes on without the package: these have no other origin.
_UNDEFINED: Final = Signature(
    "NameError: name '",
    r"name '(?:flash_attn|causal_conv1d|selective_scan|deepspeed|xformers|bnb)\w*' is not",
    weak=True,
)


def _package_missing(case: Case) -> Claim | None:
    hits = tuple(
        hit for hit in case.hits(*MISSING) if not (re.search(_INNER, hit.line.text) or was_to_be_built(case, hit))
    )
    if not hits and case.has(_NO_NUMPY):
        return claim_from(case.hits(_ABSENT_NUMPY), weight=Weight.DECISIVE)
    if hits and all(hit.line.quiet for hit in hits):
        # Logged as a warning it is an optional package, which nothing misses.
        return claim_from(hits, certainty="possible", weight=Weight.ASIDE)
    if not hits and (claim := indexes.no_release(case)):
        return claim
    if not hits and not any(not says_only_that(line.text) for line in case.errors):
        return claim_from(case.hits(_BARE), certainty="likely", weight=Weight.NOTED)
    return claim_from(hits) or claim_from(case.hits(_UNDEFINED), certainty="possible", weight=Weight.HINT)


CAUSES: Final = (
    Cause(
        id="python-package-conflict",
        title="installed Python packages contradict one another",
        handling="advise",
        rank=65,
        summary="The installed Python packages don't go together: {package} has no {name}.||The installed Python "
        "packages don't go together; often transformers is too old or too new for the model or the server.",
        advice="`{python} -m pip check`, then install the versions that the server's release pins.||`pip check` in the "
        "service's environment, then install the versions that the server's release pins.",
        judge=_conflict,
        signatures=(
            *_CONFLICT,
            *other_release.SIGNATURES,
            indexes.NO_SOLUTION,
            indexes.UNREGISTERED,
            _UNINSPECTED,
            _INNER_MODULE,
            _ASKED_FOR,
            _KEY,
            _TRANSFORMERS,
            _NO_NUMPY,
            _ABSENT_NUMPY,
        ),
        page=Page(
            meaning="Two packages expect different things of one another: a name that was moved, a model type that "
            "this transformers doesn't know, a NumPy of another major.",
            origin="A model newer than the installed transformers, a `pip install -U` of one package, or an "
            "environment shared by two servers.",
            recognised="`cannot import name`, `Transformers does not recognize this architecture`, `compiled using "
            "NumPy 1.x`, `is already used by a Transformers`.",
            mending="The versions that the server's release names; a virtual environment of its own for each server.",
            avoid="No compiler or driver is involved.",
            sources=("pip check",),
        ),
    ),
    Cause(
        id="python-package-missing",
        title="a module is not installed in this interpreter",
        handling="advise",
        rank=66,
        summary="The module {module} is not installed in the service's Python.||A Python module is not installed in "
        "the service's interpreter.",
        advice="Install the package that holds it with the interpreter that the unit runs: `{python} -m pip install "
        "{module}`.||Install it with the interpreter that the unit runs, `PYTHON -m pip install …`.",
        judge=_package_missing,
        signatures=(*MISSING, _BARE, _UNDEFINED, *indexes.SIGNATURES, _NO_NUMPY, _ABSENT_NUMPY, LOADED_BUILT),
        page=Page(
            meaning="Python looked through its own site-packages and didn't find a module.",
            origin="The unit runs another interpreter than the one it was installed into, or the package is an "
            "optional one that this model or option needs.",
            recognised="`ModuleNotFoundError: No module named …` as an error. As a warning it is an optional package "
            "that nothing misses.",
            mending="Install it there, by the interpreter's full path; or correct ExecStart= to the right environment.",
            avoid="`pip` on your own PATH may belong to another Python.",
            sources=("Python's import system",),
        ),
    ),
)
