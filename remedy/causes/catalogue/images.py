"""Prebuilt code that does not fit the GPU."""

from __future__ import annotations

from remedy.causes import reading, rules
from remedy.causes.case import Case, claim_from
from remedy.causes.catalogue.targets import CONDITIONAL
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import EMPTY_ARCHS, NO_KERNEL_IMAGE, NVRTC, NVRTC_TARGET, SOURCE_ERRORS
from remedy.hints import Final

_TORCH_WARNING: Final = (
    Signature(
        "is not compatible with the current PyTorch installation", r"CUDA capability (?P<sm>sm_\d+)|not compatible"
    ),
    # of Orin torch says so as well, and Orin runs what is built for 8.0
    Signature("which is of compute capability (CC)", r"\(CC\) (?!8\.7)\d+\.\d", library="torch"),
    Signature("does not include kernels for this GPU", library="torch"),
)
_KERNEL_CODES: Final = (
    Signature("cudaErrorNoKernelImageForDevice"),
    Signature("CUDA_ERROR_NO_BINARY_FOR_GPU"),
    Signature("ErrorInvalidKernelImage"),
    Signature("no kernel image", r"no kernel image (?:is |was )?(?:available )?(?:found|for|available)"),
    # xFormers' and torch's memory-efficient attention
    Signature("but was built for", r"\bsm\d+(?:-sm\d+)?, but was built for (?:< )?(?P<arch>sm\w+|\d+\.\d)"),
    Signature("requires CUDA_ARCH >= ", library="vllm"),
    Signature("no kernel found to launch", r"cutlass[FB]: no kernel found to launch"),
    Signature(
        "nvalid device function",
        r"(?:CUDA|cuda|[Ee]rror).{0,80}invalid device function|cudaErrorInvalidDeviceFunction",
    ),
    Signature("GPU with CUDA capability", r"GPU with CUDA capability \d \d is not supported", library="tgi"),
    # vLLM's own kernels; what they ask to be recompiled with is about the wheel, not about this machine
    Signature("No compiled ", r"No compiled \w+ .*(?:for SM \d|CUDA device capability)", library="vllm"),
    Signature("; got sm_", r"requires sm_\d+\+? .*; got sm_(?P<arch>\d+)", library="vllm"),
    # SGLang, of its float16: in its own writing, and in that of those who quote it
    Signature("only supports sm", r"(?i)SGLang only supports (?P<arch>sm ?\d+) and", library="sglang"),
    Signature("This kernel only supports sm", r"This kernel only supports (?P<arch>sm\w+)"),
    Signature("compiled without support for", r"(?:ggml|CUDA).*compiled without|was not compiled .* for (?:sm|arch)"),
    # text-embeddings-inference and its images' entry point; torch and ollama of a GPU that they dropped
    Signature("ompute cap ", r"compute cap \d+ is not (?:compatible with|supported)"),
    Signature("no longer supports this GPU"),
    # bitsandbytes guesses so of whatever the driver said
    Signature("GPU is too old", r"^(?!.*might also be).*GPU is too old"),
    Signature("CUDA kernel", r"has no device code compatible with CUDA arch (?P<arch>\d+)"),
    Signature("is not compatible with compile time compute cap", library="text-embeddings-inference"),
    # extensions that are built for the GPU of the machine that built them, and look for their code themselves
    Signature("Could not find compatible", r"compatible \w+ extension for compute capability (?P<arch>\d+)"),
    Signature("kernel is not available", r"\b(?P<arch>SM\d+) kernel is not available", library="sageattention"),
    Signature("Unsupported CUDA architecture: sm", library="sageattention"),
    Signature("support sm_", r"\b(?i:torch|build|wheel)s? (?:does not|doesn't|do not|don't) support (?P<arch>sm_\d+)"),
    # torch, of a GPU that came after the CUDA it was built with
    Signature("requires CUDA_VERSION >= ", library="torch"),
    # AMD's counterparts: rocBLAS reads its kernels from a file for each GPU, HIP from the library
    Signature("TensileLibrary", r"rocBLAS error: Cannot read .*TensileLibrary.* for GPU arch", library="rocblas"),
    Signature("hipErrorNoBinaryForGpu"),
    *any_of(
        "Mismatched GPU Architecture",
        "is not compatible with Paddle installation",
        pattern=r"package was compiled for|with arch",
        library="paddle",
    ),
    # TensorRT's plans are code for one kind of GPU; its releases, cuBLAS' and cuDNN's end with some
    Signature("engine plan file is generated on an incompatible device", library="tensorrt"),
    Signature("is not supported by this TensorRT release", library="tensorrt"),
    *any_of("_STATUS_ARCH_MISMATCH", "StatusArchMismatch", pattern=""),
    Signature("Error named symbol", r"Error named symbol not found at line", library="bitsandbytes"),
    Signature("minimum required Cuda capability is", library="tensorflow"),
    Signature("amdgpu is not supported (supported types", library="ollama"),
)
# What a library says of a GPU that it has no kernel for, before it looks for one.
_NO_KERNEL_FOR: Final = (
    # TensorRT-LLM's attention within FlashInfer, DeepGEMM: of a GPU, not of a machine's processor
    Signature("nsupported architecture", r"Unsupported architecture(?! *:? ?(?:\w|['\"(`]))", weak=True),
    Signature("Only SM ", r"Only SM ?\d[\d.x]*.{0,30}(?:are|is) supported", weak=True),
    Signature(
        "ompute capability",
        # what was asked for by name is a matter of the configuration
        r"does not support (?:backend '\w+' with )?compute capability \d"
        r"|ompute capability (?:\d[\d.]* )?is (?:lower|less|below)"
        r"|No valid attention backend.*compute capability not supported",
        weak=True,
    ),
    *any_of(
        "can only be enabled on sm",
        "GPUs do not support",
        pattern=r"enabled on sm_?\d|pre SM ?\d+ GPUs do not support",
        weak=True,
        library="tensorrt-llm",
    ),
    Signature("not supported for the current GPU", r"Minimum capability: \d", weak=True, library="vllm"),
    *any_of(
        "only supported on",
        "nly supports",
        # "devices with compute capability" is vLLM's word for a FlashAttention that was not built
        pattern=r"only support(?:ed on|s) (?!devices with compute)(?:\w+ ){0,3}?(?:Hopper|Blackwell|SM ?\d|sm_?\d)",
        weak=True,
    ),
)
# What is loaded right after it was built here for this GPU does not lack its code: Triton's answers so where the driver
# is older than its ptxas, DeepGEMM's where the compile before it failed.
_INVALID_IMAGE: Final = Signature(
    "device kernel image is invalid", r"^(?!.*(?:Triton Error|\bjit/\w+\.hpp)).*device kernel image is invalid"
)
# NVIDIA's images say so of a GPU that is older or newer than what is in them, and go on.
_IMAGE_GPU: Final = (
    Signature("upported in this version of the container"),
    Signature("not supported by this container"),
    Signature("No supported GPU(s) detected"),
    # xFormers, of each operator that it could have taken
    Signature("requires device with capability", library="xformers"),
)
_ATTENTION_GPU: Final = any_of(
    "only supports Ampere GPUs",
    "only supports Hopper GPUs",
    pattern=r"only supports (?:Ampere|Hopper) GPUs(?: or newer)?",
)
# FlashAttention 1 and 2, a TORCH_CHECK of the capabilities it has kernels for
_ATTENTION_CHECK: Final = Signature("Expected is_sm", r"Expected is_sm\w+.* to be true, but got false")
_TRITON_GPU: Final = Signature("too old to be supported by the triton GPU compiler", library="inductor")


def _no_image(case: Case) -> Claim | None:
    sm = case.facts.sm
    facts = (case.fact(f"the GPU is of compute capability {rules.dotted(sm)}", "sm"),) if sm else ()
    hits = case.hits(NO_KERNEL_IMAGE, *_KERNEL_CODES, *_ATTENTION_GPU, _ATTENTION_CHECK, _TRITON_GPU, CONDITIONAL)
    if not case.has(SOURCE_ERRORS):
        hits += case.hits(_INVALID_IMAGE)
    warned = case.hits(*_TORCH_WARNING)
    if hits:
        return claim_from(hits + warned, facts, certainty="confirmed" if warned else "likely")
    if warned:
        return claim_from(warned, facts, certainty="likely")
    if case.has(*_IMAGE_GPU):
        return claim_from(case.hits(*_IMAGE_GPU), facts, certainty="likely", weight=Weight.NOTED)
    if case.has(NVRTC_TARGET) and not reading.toolkits_nvrtc(case):
        # the NVRTC in torch's wheel
        return claim_from(case.hits(NVRTC_TARGET), facts, certainty="likely", weight=Weight.DECISIVE)
    if sm and sm < (7, 5) and case.has(*EMPTY_ARCHS):
        return claim_from(case.hits(*EMPTY_ARCHS), facts, weight=Weight.DECISIVE)
    if case.has(*_NO_KERNEL_FOR):
        return claim_from(case.hits(*_NO_KERNEL_FOR), facts, certainty="possible", weight=Weight.NOTED)
    return None


CAUSES: Final = (
    Cause(
        id="kernel-image-missing",
        title="a prebuilt kernel has no code for this GPU",
        handling="advise",
        rank=60,
        summary="A prebuilt library holds no code for this GPU.",
        advice="`{python} -c 'import torch; print(torch.cuda.get_arch_list())'` lists what torch has code for: install "
        "builds of it and of the kernel packages that name this GPU; no compiler on this machine changes a wheel."
        "||Install builds of torch and the kernel packages that name this GPU's architecture; no compiler on this "
        "machine changes a wheel.",
        judge=_no_image,
        signatures=(
            NO_KERNEL_IMAGE,
            *_KERNEL_CODES,
            *_NO_KERNEL_FOR,
            _INVALID_IMAGE,
            SOURCE_ERRORS,
            *_IMAGE_GPU,
            *_ATTENTION_GPU,
            CONDITIONAL,
            _ATTENTION_CHECK,
            _TRITON_GPU,
            *_TORCH_WARNING,
            *NVRTC,
            *EMPTY_ARCHS,
        ),
        page=Page(
            meaning="A wheel holds machine code for a list of GPUs. This one isn't on it, and there is no PTX that the "
            "driver could translate.",
            origin="A GPU newer than the wheel (an RTX 50 with a torch built for CUDA 12.6), one older than the wheel "
            "supports (V100 with CUDA 13 builds), or an extension that was built elsewhere for one GPU only.",
            recognised="`no kernel image is available for execution on the device`; torch warns earlier that the GPU "
            "`is not compatible with the current PyTorch installation` and lists what is.",
            mending="A build for the right CUDA: `python -c 'import torch; print(torch.cuda.get_arch_list())'` must "
            "name the GPU. The same for flash-attn, sgl-kernel, vLLM.",
            avoid="A new toolkit, driver or CUDA_HOME changes nothing about code that is already built. Only a module "
            "in a JIT cache is built here; remedy tells the two apart.",
            sources=("CUDA C++ Programming Guide, binary compatibility",),
        ),
    ),
)
