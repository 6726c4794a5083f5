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
    *any_of(
        "kSERIALIZATION_VERSION failed",
        "Serialized Engine Version",
        "kMAGIC_TAG failed",
        pattern="",
        library="tensorrt",
    ),
    Signature("TransformerEngine package version mismatch", library="transformer-engine"),
    # Hugging Face's prebuilt kernels are there for some releases of torch and CUDA
    *any_of("does not have build: ", "ind a build variant for this system", pattern="", library="kernels"),
    Signature("Import of the `bindings` module failed", library="tensorrt-llm"),
    Signature("is not compatible with this version of TensorRT", library="tensorrt"),
    # torchcodec tries its builds for one FFmpeg after the other, and blames torch's release or FFmpeg
    Signature("Could not load libtorchcodec", library="torchcodec"),
    # pybind11 and Python itself, of a module that was compiled for another Python
    Signature("module was compiled for", r"ImportError: Python version mismatch: module was compiled"),
    Signature("uses unknown slot ID", r"SystemError: module \S+ uses unknown slot ID"),
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
# torch's dispatcher, of an extension that was built for no GPU, and of one that is there twice
OTHER_BUILD: Final = (
    Signature("from the 'CUDA' backend", r"Could not run '(?!aten::|prim::)\w+::\w+'", library="torch"),
    Signature("a single TORCH_LIBRARY can be used", library="torch"),
    Signature("ried to register an operator", r"an operator \(\w+::.*with the same name", library="torch"),
)
# torch's own libraries and tvm-ffi's, which an extension finds where they are of the release that it was made with
TORCHS_OWN: Final = r"lib(?:torch|c10|caffe2|tvm_ffi)\w*\.so"
# An import that goes on without: the binary for this CUDA is not in the wheel.
NO_BINARY: Final = (
    *any_of("load C++/CUDA extensions", "xFormers wasn't build with CUDA support", pattern="", library="xformers"),
    Signature("Required library version not found", r"Required library version not found: (?P<lib>lib\w+\.so)"),
    Signature("bitsandbytes CUDA binary", r"[Nn]ot find the bitsandbytes CUDA binary"),
    *any_of("native library functionality", "CPU-only version", pattern="bitsandbytes"),
    *any_of("CUDA Setup failed despite", "CUDA SETUP: Something unexpected", pattern="", library="bitsandbytes"),
    Signature("an not import sgl_kernel", library="sglang"),
    Signature("CUDA extension not installed", library="gptq"),
    Signature("Shared library with base name '", library="llama-cpp-python"),
    Signature("CUDA binary not found", r"Configured (?:CUDA|ROCm/CUDA|\w+) binary not found"),
)
# An extension that did not load, without a word of why: Windows, and Python of what was to be imported from it; or one
# whose functions take other arguments (pybind11). Most often it was built for another torch or release.
UNLOADED: Final = any_of(
    "DLL load failed while importing",
    "or one of its dependencies",
    "NameError: name '",
    "ould not find module '",
    "incompatible function arguments",
    "'NoneType' object has no attribute '",
    # what Triton built here is no wheel's
    pattern=r"DLL load failed while importing (?!__triton_launcher|cuda_utils)"
    r"|\[WinError \d+\] .*Error loading \"[^\"]+\.(?:dll|pyd)\""
    r"|NameError: name '\w+_(?:ops|ext|cuda)' is not defined"
    r"|TypeError: \w+\(\): incompatible function arguments|'NoneType' object has no attribute '\w+_[fb]wd'"
    r"|ould not find module '[^']{1,300}site-packages[^']{1,200}\.dll'",
    weak=True,
)
