"""Logs that sound like the toolchain and are none: nothing may be said against a compiler here."""

from __future__ import annotations

import pytest

from remedy.causes import engine, facts_file

SOUND = {
    "gpu": "H100",
    "sm": "9.0",
    "nvcc": "12.8",
    "torch_cuda": "12.8",
    "flashinfer": "0.6.4",
    "driver": "570.86.10",
    "gcc": "13.3",
}

TRAPS = [
    "Unsloth: FlashInfer requires JIT compilation but nvcc (CUDA compiler) and ninja (build tool) are not found.\n"
    "  vLLM will use FLASH_ATTN attention + PyTorch sampler instead (works fine).\nKeyError: 'lm_head.weight'",
    "Unsloth: FlashInfer requires JIT compilation but nvcc (CUDA compiler) is not found.\n"
    "RuntimeError: The size of tensor a (4096) must match the size of tensor b (5120)",
    "RuntimeError: CUDA error: an illegal memory access was encountered\n"
    "CUDA kernel errors might be asynchronously reported at some other API call",
    "RuntimeError: CUDA error: device-side assert triggered",
    "torch.AcceleratorError: CUDA error: misaligned address",
    "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling cublasGemmEx",
    "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 114688, Hardware limit: 101376.",
    "ValueError: User-specified max_model_len (262144) is greater than the derived max_model_len (131072)",
    "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla "
    "T4 GPU has compute capability 7.5.",
    "RuntimeError: type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')",
    "ValueError: Unknown quantization method: nvfp4. Must be one of ['awq', 'fp8']",
    "KeyError: 'model.layers.0.mlp.experts.w13_weight_scale'",
    "RuntimeError: The size of tensor a (4096) must match the size of tensor b (5120)",
    "RuntimeError: Cannot re-initialize CUDA in forked subprocess.",
    "NotImplementedError: No operator found for `memory_efficient_attention_forward`",
    "INFO 01-01 [x.py:1] Using nvcc from /usr/local/cuda/bin/nvcc\n"
    "INFO 01-01 flashinfer.jit: Finished loading JIT ops: page\n"
    "RuntimeError: shape mismatch: value tensor of shape [1] cannot be broadcast",
    "Lock file exists in build directory: '/root/.cache/torch_extensions/py310_cu128/plugin/lock'\n"
    "RuntimeError: shape mismatch: value tensor of shape [1] cannot be broadcast",
    'x.hpp(112): error: namespace "cuda::ptx" has no member "n32_t"',
    'File "/srv/torch/utils/cpp_extension.py", line 30, in _find_cuda_home\n'
    "    if not os.path.exists(cuda_home):\nTypeError: stat: path should be string, bytes, os.PathLike or integer",
    'failed to get PTX kernel "broadcast" from module: CUDA_ERROR_NOT_FOUND: named symbol not found',
    "2026-04-11 11:37:51.345475: W external/xla/stream_executor/gpu/asm_compiler.cc:231] Falling back to the CUDA "
    "driver for PTX compilation; ptxas does not support CC 8.9\n"
    "RuntimeError: shape mismatch: value tensor of shape [1] cannot be broadcast",
    "ImportError: /srv/.cache/torch_extensions/py310_cu121/fused/fused.so: cannot open shared object file",
    "A matching Triton is not available, some optimizations will not be enabled\n"
    "Error caught was: No module named 'triton'\nRuntimeError: shape mismatch",
    "[1/3] /usr/local/cuda-12.8/bin/nvcc -c a.cu -o a.o\n"
    "[2/3] /usr/local/cuda-12.8/bin/nvcc -c b.cu -o b.o\n[3/3] c++ a.o b.o -o x.so\n"
    "AssertionError: tensor parallel size (3) must divide number of heads",
    "torch._dynamo.exc.Unsupported: Graph break under GenericContextWrappingVariable",
    "TypeError: 'NoneType' object is not subscriptable",
    "ERROR: the loader met an undefined symbol while importing; see the undefined symbol cudnn list above",
    "x.cpp:7:3: error: expected primary-expression\nRuntimeError: Error compiling objects for extension",
    "ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded",
    "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
    "EOFError: Ran out of input",
    "Process died with exit code -11",
    "python: malloc.c:2617: sysmalloc: Assertion failed.\nAborted (core dumped)",
    "RuntimeError: unable to open shared memory object </torch_123> in read-write mode: Too many open files (24)",
    "OSError: [Errno 24] Too many open files",
    "ValueError: invalid literal for int() with base 10: 'auto'",
    "launch_server.py: error: unrecognized arguments: --enable-foo",
    "usage: vllm [-h]\nvllm: error: argument --quantization: invalid choice: 'x'",
    "RuntimeError: Triton Error [CUDA]: invalid argument",
    "tvm.error.InternalError: Error in function 'TllmGenFmhaRunner' at fmhaRunner.cuh:37: Unsupported architecture",
    "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
    "RuntimeError: CUDA driver error: unknown error",
    "cudaErrorUnknown: unknown error",
    "RuntimeError: Ninja build failed. Ninja output:\n"
    'x.cu(41): error: static assertion failed with "unsupported"\nninja: build stopped: subcommand failed.',
    'x.cu(12): error: expected a ";"\n1 error detected in the compilation of "x.cu".\n'
    "ninja: build stopped: subcommand failed.",
    "CMake Error: The following variables are used in this project, but they are set to NOTFOUND",
    "error: subprocess-exited-with-error\n× python setup.py bdist_wheel did not run successfully.",
    "requests.exceptions.SSLError: certificate verify failed",
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
    "ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task.",
    "asyncio.exceptions.TimeoutError: Rank 0 failed to receive",
    "Watchdog timeout (self.watchdog_timeout=300)",
    "sglang did not become healthy at http://127.0.0.1:30000/health within 900s",
    "RuntimeError: Engine process failed to start. See stack trace for the root cause.",
    "CUDA_HOME: /usr/local/cuda\nNVCC: Cuda compilation tools, release 12.8, V12.8.93\n"
    "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0",
    "nvcc not found, falling back to torch.version.cuda\nRuntimeError: The size of tensor a must match tensor b",
    "Could not find nvcc, using the prebuilt kernels instead\nKeyError: 'lm_head.weight'",
    "$ nvcc --version\nbash: nvcc: command not found\nValueError: Unknown quantization method: nvfp4",
    "ERROR: AttributeError: 'Qwen2Tokenizer' object has no attribute 'all_special_tokens_extended'",
    "RuntimeError: [../gloo/transport/tcp/pair.cc:525] Connection closed by peer [10.0.0.2]:1",
]


@pytest.mark.parametrize("log", TRAPS, ids=[trap[:40] for trap in TRAPS])
@pytest.mark.parametrize("facts", [{}, SOUND], ids=["alone", "sound"])
def test_no_toolchain_verdict(log: str, facts: dict[str, object]) -> None:
    root = engine.explain(log.splitlines(), facts_file.from_mapping(facts)).root
    assert not root.toolchain, root


#: What is wrong with the machine, and had no part in the failure.
MISLED = [
    ({"cuda_home": "/dev/null", "sm": "9.0"}, "ninja: build stopped\ntorch.OutOfMemoryError: CUDA out of memory."),
    (
        {"cuda_home": "/dev/null", "sm": "9.0"},
        "[1/2] /opt/cuda/bin/nvcc -c a.cu\nOSError: [Errno 28] No space left on device",
    ),
    (
        {"nvcc": "11.8", "torch_cuda": "12.1"},
        "/x/main.cpp:96:52: error: cannot convert 'long int'\nninja: build stopped: subcommand failed.",
    ),
    (
        {"nvcc": "12.8", "torch_cuda": "13.0", "gcc": "15.1", "sm": "12.0"},
        "/x.cuh:8:10: fatal error: glm/glm.hpp: No such file or directory\nninja: build stopped: subcommand failed.",
    ),
    ({"linked_cudart": "libcudart.so.12", "torch_cuda": "13.0"}, "KeyError: 'a'"),
    (
        {"nvcc": "12.1", "torch_cuda": "13.0", "sm": "9.0"},
        'x.cu(155): error: namespace "at::cuda" has no member "getCurrentCUDAStream"\nninja: build stopped.',
    ),
    (
        {"nvcc": "12.8", "torch_cuda": "13.0", "sm": "9.0"},
        "nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)\nninja: build stopped.",
    ),
    (
        {"nvcc": "12.8", "torch_cuda": "13.0", "gcc": "15.1", "sm": "12.0"},
        "x.cu:62:385: internal compiler error: in maybe_undo_parenthesized_ref\nninja: build stopped.",
    ),
    (
        {"nvcc": "12.4", "torch_cuda": "13.0", "gcc": "15.1", "sm": "12.0"},
        "ninja: build stopped: subcommand failed.\ngoing on without it\nKeyError: 'rope'",
    ),
    (
        {"env": {"FLASHINFER_CUDA_ARCH_LIST": "12.0,12.1"}, "sm": "12.0"},
        "ValueError: invalid literal for int() with base 10: 'auto'",
    ),
    ({"sm": "9.0"}, "CUDA_HOME is not set, trying /usr/local/cuda\nValueError: Unknown model"),
    (
        {"nvcc": "12.4", "sm": "12.0"},
        "RuntimeError: FlashInfer requires GPUs with sm75 or higher\nNo CUDA GPUs are available",
    ),
    (
        {"lock_files": ["/root/.cache/torch_extensions/x/lock"], "silent_s": 900},
        "huggingface_hub: 401 Client Error: gated",
    ),
    (
        {"torch_cuda": "12.8"},
        "WARNING! libcudart.so not found in any path.\nCUDA runtime path found: /opt/cuda/lib64/libcudart.so.11.0\n"
        "RuntimeError: CUDA Setup failed despite GPU being available.",
    ),
    # a colon within a path to nvcc is a mount, a prefix of grep or scp: only one at an end is a root written like PATH
    ({}, "docker run -v /opt/cuda/bin/nvcc:/usr/local/cuda/bin/nvcc img\nninja: build stopped: subcommand failed."),
    ({}, "host:/usr/local/cuda/bin/nvcc a.cu\nninja: build stopped: subcommand failed."),
    ({}, "[1/2] :/usr/local/cuda/bin/nvcc -c a.cu -o a.o\nKeyError: 'a'"),
    # every make of GPU is asked for in turn
    (
        {"gpu": "RTX 4090"},
        "note: hipcc not found on $PATH\nnote: /opt/rocm/bin/hipcc does not exist\nsegmentation fault",
    ),
    # who only waits tells of nothing, and raises nothing
    (
        {"lock_files": ["/root/.cache/torch_extensions/x/lock"]},
        "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11040).",
    ),
    (
        {"lock_files": ["/root/.cache/torch_extensions/x/lock"]},
        'Traceback (most recent call last):\n  File "/opt/x/hooks.py", line 13, in get_requires_for_build_wheel',
    ),
    ({"linked_cudart": "libcudart.so.13", "torch_cuda": "12.8"}, "INFO: No available shared memory broadcast block"),
    (
        {"linked_cudart": "libcudart.so.12", "torch_cuda": "13.0", "driver": "535.54"},
        "RuntimeError: CUDA driver version is insufficient for CUDA runtime version",
    ),
    # CMake and Triton don't ask CUDA_HOME
    (
        {"cuda_home": "/dev/null"},
        "-- Check for working CUDA compiler: /usr/local/cuda/bin/nvcc - skipped\ngit: no route",
    ),
    ({"cuda_home": "/dev/null"}, "/usr/bin/ld: cannot find -lcuda: No such file or directory"),
    # names of other libraries, of which another release has them
    (
        {"nvcc": "11.8", "torch_cuda": "12.1"},
        'x.cu(3): error: identifier "AT_CHECK" is undefined\nninja: build stopped.',
    ),
    (
        {"nvcc": "12.4", "torch_cuda": "13.0", "sm": "12.0"},
        'guard.h(52): error: identifier "TVM_FFI_CHECK_CUDA_ERROR" is undefined\nninja: build stopped.',
    ),
    (
        {"nvcc": "11.8", "torch_cuda": "12.1"},
        "x.cpp:12:3: error: ‘THCState_getCurrentStream’ was not declared in this scope\nFAILED: x.cu.o",
    ),
    # CMake without a program to build with, or from before it knew CUDA, looked for no compiler
    (
        {},
        'CMake was unable to find a build program corresponding to "Unix Makefiles".  CMAKE_MAKE_PROGRAM is not set.\n'
        "CMake Error: CMAKE_CXX_COMPILER not set, after EnableLanguage\n"
        "CMake Error: CMAKE_CUDA_COMPILER not set, after EnableLanguage",
    ),
    (
        {},
        "CMake Error: Could not find cmake module file: CMakeDetermineCUDACompiler.cmake\n"
        "  No CMAKE_CUDA_COMPILER could be found.\n"
        "CMake Error: CMAKE_CUDA_COMPILER not set, after EnableLanguage",
    ),
    # torch and others build without ninja
    (
        {},
        "UserWarning: Attempted to use ninja as the BuildExtension backend but we could not find ninja.. Falling back "
        "to using the slow distutils backend.\n  warnings.warn(msg.format('we could not find ninja.'))\nbuild_ext",
    ),
    ({}, "warning: ninja not found, falling back to make\nKeyError: 1"),
    # one old GPU by detection, no list
    ({}, "['-gencode=arch=compute_70,code=sm_70']\nRuntimeError: FlashInfer requires sm75+"),
    (
        {"sm": "7.0"},
        "['-gencode=arch=compute_70,code=sm_70', '-gencode=arch=compute_80,code=sm_80']\n"
        "RuntimeError: FlashInfer requires sm75+",
    ),
]


@pytest.mark.parametrize(("facts", "log"), MISLED, ids=[log[:40] for _, log in MISLED])
def test_a_fault_of_the_machine_that_had_no_part(facts: dict[str, object], log: str) -> None:
    root = engine.explain(log.splitlines(), facts_file.from_mapping(facts)).root
    assert not root.toolchain, root


@pytest.mark.parametrize(
    ("facts", "log", "cause"),
    [
        (
            {"cuda_home": "/opt/cuda/bin", "sm": "9.0"},
            "a.cu:1: fatal error: curand.h: No such file or directory",
            "cuda-home-invalid",
        ),
        ({"cuda_home": "/opt/cuda/bin", "sm": "9.0"}, "ninja: build stopped: subcommand failed.", "cuda-home-invalid"),
        (
            {},
            "FAILED: a.o\n/usr/local/cuda-12.8:/bin/nvcc -c a.cu -o a.o\nninja: build stopped: subcommand failed.",
            "cuda-home-invalid",
        ),
        ({}, "Error building extension 'x': [1/2] :/opt/cuda/bin/nvcc -DA -c x.cu -o x.o", "cuda-home-invalid"),
        (
            {},
            "RuntimeError: FlashInfer requires sm75+\n"
            "['-gencode=arch=compute_61,code=sm_61', '-gencode=arch=compute_120,code=sm_120']",
            "arch-list-wrong",
        ),
        ({"nvcc": "11.8", "torch_cuda": "12.1"}, "ninja: build stopped: subcommand failed.", "nvcc-torch-mismatch"),
        (
            {"nvcc": "11.8", "torch_cuda": "12.1"},
            "ninja: build stopped: subcommand failed.\nRuntimeError: the extension is not there",
            "nvcc-torch-mismatch",
        ),
        (
            {"nvcc": "11.8", "torch_cuda": "12.1"},
            "ninja: build stopped: subcommand failed.\nValueError: no kernel for this shape was compiled",
            "nvcc-torch-mismatch",
        ),
        (
            {"nvcc": "12.8", "torch_cuda": "13.0"},
            "x.cu:1: fatal error: cuda/std/array: No such file or directory\nninja: build stopped: subcommand failed.",
            "cuda-headers-missing",
        ),
        (
            {"nvcc": "12.4", "torch_cuda": "12.8"},
            'x.cu(3): error: identifier "__nv_fp8_e8m0" is undefined\nninja: build stopped: subcommand failed.',
            "nvcc-too-old",
        ),
        (
            {},
            'CMake was unable to find a build program corresponding to "Ninja".  CMAKE_MAKE_PROGRAM is not set.\n'
            "CMake Error: CMAKE_CXX_COMPILER not set, after EnableLanguage\n"
            "CMake Error: CMAKE_CUDA_COMPILER not set, after EnableLanguage",
            "ninja-missing",
        ),
        (
            {},
            "  No CMAKE_CXX_COMPILER could be found.\nCMake Error: CMAKE_CUDA_COMPILER not set, after EnableLanguage",
            "host-compiler-missing",
        ),
        ({}, "CMake Error: CMAKE_CUDA_COMPILER not set, after EnableLanguage", "nvcc-not-found"),
        ({}, "make: execvp: nvcc: 权限不够\nmake: *** [x.o] 错误 127", "nvcc-not-found"),
        ({}, "make[1]: execvp: g++: Permission denied", "host-compiler-missing"),
        (
            {"gpu": "RTX 4090"},
            "FAILED: a.o\n/opt/rocm/bin/hipcc -DX -c a.cu -o a.o\nninja: build stopped",
            "rocm-selected",
        ),
        ({"gpu": "RTX 4090"}, "error: command '/opt/rocm/bin/hipcc' failed with exit code 1", "rocm-selected"),
        (
            {"linked_cudart": "libcudart.so.13", "torch_cuda": "12.9"},
            "RuntimeError: CUDA error code=35 (cudaErrorInsufficientDriver)",
            "cuda-library-not-linkable",
        ),
        ({"lock_files": ["/root/.cache/torch_extensions/x/lock"], "silent_s": 900}, "loading", "jit-cache-locked"),
        (
            {"env": {"FLASHINFER_CUDA_ARCH_LIST": "12.0,12.1"}, "sm": "12.0"},
            "ValueError: invalid literal for int() with base 10: '0,12'",
            "arch-list-wrong",
        ),
        (
            {"env": {"FLASHINFER_CUDA_ARCH_LIST": "12.0,12.1"}, "sm": "12.0"},
            "ValueError: too many values to unpack (expected 2)",
            "arch-list-wrong",
        ),
    ],
)
def test_one_that_had(facts: dict[str, object], log: str, cause: str) -> None:
    assert engine.explain(log.splitlines(), facts_file.from_mapping(facts)).root.id == cause
