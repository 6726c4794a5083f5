"""What programs say that look for a GPU themselves, each in its own words, and end of it where there is none.

A line that says what its writer does instead is no failure, and a toolkit is asked for by other words.
"""

from __future__ import annotations

from remedy.causes.entry import Signature, any_of
from remedy.hints import Final

# Each is what the first pattern below wants behind the name: that alone stands in every other line.
_BEHIND: Final = (
    " GPU", " gpu", " dev", " ena", " cap", " supp", " is ", " was ", " not ", " una", " requ", " must ", " but ",
    ", but", "-",
)  # fmt: skip

NO_GPU_ASKED_FOR: Final = (
    *any_of(
        *(name + word for name in ("CUDA", "Cuda", "cuda") for word in _BEHIND),
        pattern=r"(?i)^(?!.*(?:nvcc|cuda_home|toolkit|compil|install|fall|\busing (?:the )?cpu|\bbuild)).*"
        r"(?:(?:Error|Exception|Exit)\w*: |^(?:[A-Z]+:[\w.]+:)?|error: )"
        r"(?:.{0,60}\brequires? (?:a )?cuda(?: |-)?(?:gpu|device|enabled|capable|, but)"
        r"|(?:error: |.{0,20}\bexpected )?cuda (?:(?:gpu|device|support) )?(?:(?:is|was) )?"
        r"(?:not available|unavailable|requested,? but|required\b|must be available|but none was found))",
    ),
    Signature("torch.cuda.is_available() is", r"(?i)(?:but|:) torch\.cuda\.is_available\(\) is false"),
    *any_of(
        "GPU not",
        "GPU is not",
        "GPU was not",
        "GPU device not",
        pattern=r"GPU (?:device )?(?:is |was )?not (?:detected|found|available|visible)\b(?!.{0,40}(?:fall|CPU|cpu))",
    ),
    *any_of(
        "a GPU", "GPU is required", pattern=r"rror: .{0,80}(?:\brequires? a|[Yy]ou need a) GPU\b(?! (?:with|of|that))"
    ),
    *any_of(
        "equires a",
        "GPU unavailable",
        "GPU required",
        "uda device not found",
        "UDA device not found",
        "VIDIA driver",
        "vidia driver",
        pattern=r"(?i)^(?!.*(?:fall|\bif\b|CPU)).*(?:\brequires an? NVIDIA GPU\b(?! (?:with|of|that))"
        r"|\bGPU unavailable\b|\bGPU required but|\bcuda device not found"
        r"|\bnvidia driver (?:is |was )?not (?:found|installed)"
        r"|\bno nvidia driver (?:was )?(?:found|installed|detected))",
    ),
    Signature("No GPU/TPU found", library="jax"),
    Signature("not able to use GPU", library="torch"),
    Signature("package was not compiled with CUDA support", library="ctranslate2"),
    *any_of(
        "No supported gpu backend found",
        "But your machine only has: []",
        "can not run on your system since the accelerator is not",
        "can only be used on CUDA devices",
        pattern="",
        library="lightning",
    ),
    Signature("'gpu' requested, but no platforms", library="jax"),
    Signature("CUDA-enabled jaxlib is not installed", library="jax"),
    Signature("ggml_vulkan: No devices found"),
    Signature("failed lazily at initialization", r"device < (?:num_gpus|static_cast)", library="torch"),
    *any_of(
        "available devices are [",
        "no GPU found in runtime",
        "you have installed CPU version PaddlePaddle",
        "annot access accelerator device when none",
        "is not linked with support for cuda",
        "was not built with CUDA",
        pattern=r"/device:GPU:\d.*available devices are \[(?!.*device:GPU)|no GPU found in runtime"
        r"|CPU version PaddlePaddle|when none is available|not linked with support for cuda"
        r"|(?:PyTorch|torch) was not built with CUDA",
    ),
    *any_of(
        "GPU is needed",
        "needs a GPU",
        "needs a CUDA GPU",
        pattern=r"(?:Error|Exit|Exception)\w*: .{0,80}(?:GPU is needed|needs a (?:CUDA )?GPU)\b(?! (?:with|of|that))",
    ),
    # AMD's
    Signature("no ROCm-capable device is detected"),
    Signature("hipErrorNoDevice"),
    Signature("ROCk module is NOT loaded"),
    Signature("/dev/kfd", r"/dev/kfd.{0,40}[Nn]o such file"),
    # Jetson: the memory manager of Tegra's driver, whose node a container was not given
    *any_of("NvRmMemInit", "NvRmMemMgrInit", pattern=r"NvRmMem(?:Mgr)?Init\w* failed"),
    Signature("failed to initialize CUDA: (null)"),
    *any_of(
        "GPU discovery",
        "GPU discovery watchdog",
        pattern=r"failed to finish discovery before timeout|discovery watchdog timed out|--list-devices failed",
        library="ollama",
    ),
    *any_of(
        "compatible GPU",
        "suitable GPU",
        "capable GPU",
        "suitable CUDA device",
        "no GPU device",
        pattern=r"(?i)\bno (?:[\w-]+ ){0,2}(?:GPUs?|CUDA devices?) (?:devices? )?(?:is |are |was |were )?"
        r"(?:found|detected|available|visible)\b(?!.{0,40}(?:fall|CPU))",
    ),
    *any_of(
        " find ",
        " detect ",
        pattern=r"(?i)(?:unable to|could not|couldn't|failed to|cannot) (?:find|detect) (?:an?y? |the )?"
        r"(?:NVIDIA |compatible |CUDA[- ]?(?:capable |enabled |compatible )?)?(?:GPUs?|CUDA devices?)\b"
        r"(?! (?:\w+ )?(?:name|type|arch|memory|info|count|model|vendor|version|usage|stat|adapter))"
        r"(?!.{0,40}(?:fall|CPU))",
        needs="GPU",
    ),
    # more of them than there are
    *any_of(
        "ot enough GPUs",
        "nsufficient GPUs",
        "max local gpu count",
        "he number of GPUs",
        "GPUs requested",
        "otal available GPUs",
        "number of visible devices",
        "no GPU resources available",
        pattern=r"(?:ot enough|nsufficient) GPUs\b|less than max local gpu count|no GPU resources available"
        r"|less than total desired GPUs|must be less than or equal to the number of visible devices"
        r"|(?:larger|greater|more) than the (?:number of (?:available )?GPUs|available)",
    ),
    # or one that is not among them
    *any_of(
        "CUDA device ",
        "GPU ",
        "device cuda:",
        "device: cuda:",
        pattern=r"(?:CUDA device|GPU|device:? cuda:) ?\d+ (?:is )?not (?:found|available)\b|nvalid device: cuda:\d",
    ),
    # nvidia-smi comes with the driver, into a container with its GPU
    *any_of(
        "nvidia-smi'",
        'nvidia-smi\\": ',
        'nvidia-smi": ',
        pattern=r"(?:No such file or directory|\[Errno 2\] [^:'\"]{2,80}): '(?:/\S*/)?nvidia-smi'"
        r"|nvidia-smi\\?\": (?:executable file not found|stat )",
    ),
    # the kernel, of a driver that did not take the GPU
    Signature("robe", r"\bnvidia\b.*\bprobe (?:of \S+|with driver nvidia) failed"),
    Signature("requires use of the NVIDIA open kernel modules"),
    Signature("ailed to allocate NvKmsKapiDevice"),
    Signature("nvidia-persistenced failed to initialize"),
)
#: ollama's word for what it computes on, where no GPU was asked for as well.
NO_GPU_PERHAPS: Final = Signature(
    "inference compute", r"inference compute.*\blibrary=cpu\b", weak=True, library="ollama"
)
