"""What frameworks say of a library, or of an extension, of another release than the one they were built against."""

from __future__ import annotations

from remedy.causes.entry import Signature, any_of
from remedy.hints import Final

# XLA, TensorFlow, JAX and torch compare the cuDNN or CUDA that they find with the one they were built against.
BUILT_AGAINST: Final = (
    Signature("but source was compiled with", r"Loaded runtime CuDNN library: (?P<have>[\d.]+)"),
    Signature("version incompatibility", r"cuDNN version incompatibility|PyTorch was compiled +against"),
    Signature("VERSION_MISMATCH", r"\bCUDNN_STATUS_\w*VERSION_MISMATCH"),
    Signature("Compatibility Issue Detected", r"PyTorch [\d.]+ & (?i:cudnn) Compat"),
    Signature("JAX was built against", library="jax"),
    # tvm-ffi's registry, into which a library made with another release of it enters itself when it is loaded; what
    # Python code enters twice is no uncaught exception of C++
    Signature(
        "is already registered for type index",
        r"what\(\): +TypeAttr [`'\"]?\w+[`'\"]? is already registered for type index",
        library="tvm-ffi",
    ),
    # XLA, of a plugin that is of another release than the framework that loads it
    Signature("PJRT API", r"Mismatched PJRT plugin PJRT API|Plugin PJRT API version .{1,60}older than", library="jax"),
    Signature("Check installed software versions", r"Unexpected PJRT_\w+ size: expected", library="jax"),
    *any_of(
        "is newer than and incompatible with jax",
        "requires version >= ",
        "requires jaxlib version >= ",
        pattern=r"jaxlib version \S+ is newer|but this version of jax requires|version of jax requires jaxlib",
        library="jax",
    ),
    Signature("ops were compiled and installed with a different", library="deepspeed"),
    Signature("kSERIALIZATION_VERSION failed", library="tensorrt"),
    Signature("is not compatible with this version of TensorRT", library="tensorrt"),
)
# torch, of an extension's operator that Python calls with the arguments of another release of it; of torch's own
# operators it is the caller that is wrong
OTHER_ARGUMENTS: Final = any_of(
    "() expected at most ",
    "() is missing value for argument",
    "nknown keyword argument '",
    pattern=r"\b(?!aten::|prim::)\w+::\w+\(\) (?:expected at most \d+ argument|is missing value for argument)"
    r"|Unknown keyword argument '\w+' for operator '(?!aten::|prim::)\w+::",
    library="torch",
)
