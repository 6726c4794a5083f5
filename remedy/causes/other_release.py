"""What Python packages say where they, or the interpreter, are of another release than they were written for."""

from __future__ import annotations

import re

from remedy.causes.case import Case, Hit
from remedy.causes.entry import Signature, any_of
from remedy.hints import Final

OTHER_RELEASE: Final = (
    # tokenizers, of a tokenizer.json that a later release wrote
    Signature("of untagged enum", r"untagged enum \w+Wrapper", library="tokenizers"),
    # protobuf, of modules that another release's protoc wrote, and grpc of those of its own plugin
    *any_of(
        "Descriptors cannot",
        "descriptor pool",
        "generated code",
        "Gencode/Runtime",
        pattern=r"Descriptors cannot (?:not )?be created directly|build proto file into descriptor pool"
        r"|_pb2\.py file, your generated code is out of date|grpc package installed is at version"
        r"|incompatible Protobuf Gencode",
        library="protobuf",
    ),
    *any_of(
        "PydanticUserError",
        "PydanticImportError",
        "pydantic-core version",
        "BaseModel attribute",
        "recursive_guard",
        pattern=r"Pydantic(?:User|Import)Error|pydantic-core version \(\S+\) is incompatible"
        r"|NameError: .*shadows a BaseModel|keyword-only argument: 'recursive_guard'",
        library="pydantic",
    ),
    # NumPy, of modules that were made with another one
    *any_of(
        "binary incompatibility",
        "compiled using NumPy 1.x",
        "modules must be compiled with NumPy 2.0",
        "as removed in the NumPy",
        "downgrade to 'numpy<2'",
        "but this version of numpy is",
        "numpy.core.multiarray failed to import",
        "_ARRAY_API not found",
        pattern="",
    ),
    *any_of(
        "NumPy C-API version",
        "needs NumPy",
        "initialization of _internal failed",
        pattern=r"compiled against NumPy C-API version|Error: \w+ needs NumPy \d"
        r"|SystemError: initialization of _internal failed",
        library="numpy",
    ),
    # transformers writes down the kernels of its models as the package that fetches them has it
    Signature("a revision or a version must be specified", library="kernels"),
    # a model that this release of the server does not have: TGI, vLLM, SGLang, TensorRT-LLM and llama.cpp's converter
    *any_of(
        "nsupported model type ",
        "nsupported arch",
        "nsupported model arch",
        " is not supported",
        " implementation is not compatible with ",
        "KeyError: '",
        pattern=r"Error: Unsupported model type \w|Transformers implementation is not compatible"
        r"|[Uu]nsupported (?:model )?architectures?:? [`'\[]*[A-Z]\w+For[A-Z]\w+"
        r"|Model [`']?[A-Z]\w+For[A-Z]\w+[`']? is not supported|^KeyError: '[A-Z]\w+For(?:CausalLM|Conditional\w+)'",
    ),
    # the interpreter is older than the code, or newer than it
    *any_of(
        "a different Python",
        "or |: '",
        "is not allowed: use default_factory",
        "object is not subscriptable",
        pattern=r"requires a different Python: \d|for \|: '(?:type|\w*Alias|\w*Meta|NoneType)' and"
        r"|mutable default <class .* is not allowed|TypeError: '(?:type|ABCMeta)' object is not",
        library="python",
    ),
    # torch's compiler, of an interpreter whose bytecode it does not read yet
    *any_of(
        "supported on Python",
        "supported for torch.compile",
        pattern=r"(?:Dynamo|torch\.compile) is not supported on Python 3|Python 3\.\d+\+ not yet supported",
        library="torch",
    ),
    Signature("has no wheels with a matching Python", library="uv"),
    Signature("is not supported yet in `transformers", library="unsloth"),
    # names of distributions that are no versions: of packages of a Linux distribution, or of a source without its tags
    Signature("InvalidVersion", r"InvalidVersion: Invalid version", library="packaging"),
    Signature("max supported IR version", library="onnxruntime"),
    *any_of("resolution-too-deep", "ResolutionTooDeep", pattern="", library="pip"),
)
# Where packages of two releases meet a call does not fit what is called, and a class has not what is asked of it; so it
# is in plain faults of one of them, too. What lost its message on the way between two processes is an exception that
# could not be made again there.
_CALLED: Final = any_of(
    " positional argument",
    " keyword-only argument",
    pattern=r"(?:TypeError: |\w\.)\w\S*\(\) (?:missing \d+ required (?:positional|keyword-only) arguments?: "
    r"(?!'(?:message|msg|cmd|request|response|detail|doc)')"
    r"|takes (?:from \d+ to )?\d+ positional arguments? but \d+ (?:was|were) given)",
    weak=True,
)
_LACKS: Final = Signature(
    "object has no attribute '",
    r"^(?!.*(?:InductorError|LoweringException)).*'(?!JITKernel'|NoneType')[A-Z]+[a-z]\w*' object has no attribute '",
    weak=True,
)
# transformers, of a module whose import failed of what stands behind it
_IMPORTING: Final = Signature("of the following error (look up to see its traceback)", weak=True)
# A destructor meets what its constructor did not get to.
_UNRAISABLE: Final = Signature("Exception ignored in", weak=True)
_FRAMES: Final = 12

SIGNATURES: Final = (*OTHER_RELEASE, *_CALLED, _LACKS, _IMPORTING, _UNRAISABLE)


def unfitting(case: Case) -> tuple[Hit, ...]:
    """Lines by which one package's code may meet another release of another's, though nothing says so."""
    ignored = [hit.line.number for hit in case.hits(_UNRAISABLE)]
    return tuple(
        hit
        for hit in case.hits(*_CALLED, _LACKS, _IMPORTING)
        if not hit.line.quiet
        and not re.search(r"__del__", hit.line.text)
        and not any(0 <= hit.line.number - number <= _FRAMES for number in ignored)
    )
