"""What programs say that look for a GPU themselves, each in its own words, and end of it where there is none.

A line that says what its writer does instead is no failure, and a toolkit is asked for by other words.
"""

from __future__ import annotations

from remedy.causes.entry import Signature, any_of
from remedy.hints import Final

NO_GPU_ASKED_FOR: Final = (
    *any_of(
        "CUDA ",
        "Cuda ",
        "cuda ",
        pattern=r"(?i)^(?!.*(?:nvcc|cuda_home|toolkit|compil|install|fall|\busing (?:the )?cpu|to build)).*"
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
    # AMD's
    Signature("no ROCm-capable device is detected"),
    Signature("hipErrorNoDevice"),
    Signature("ROCk module is NOT loaded"),
    Signature("/dev/kfd", r"/dev/kfd.{0,40}[Nn]o such file"),
    # Jetson: the memory manager of Tegra's driver, whose node a container was not given
    *any_of("NvRmMemInit", "NvRmMemMgrInit", pattern=r"NvRmMem(?:Mgr)?Init\w* failed"),
    Signature("failed to initialize CUDA: (null)"),
    Signature("GPU discovery", r"failed to finish discovery before timeout", library="ollama"),
)
