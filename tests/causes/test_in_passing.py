"""Words said in passing, and words that mean one thing beside these facts or lines and another beside those."""

from __future__ import annotations

import pytest

from remedy.causes import engine, facts_file


def test_a_kernel_for_other_gpus_is_no_matter_of_the_compiler() -> None:
    log = ["RuntimeError: No supported CUDA architectures found for major versions [10]."]
    for sm, nvcc in (("12.0", "12.8"), ("9.0", "13.0")):
        assert engine.explain(log, facts_file.from_mapping({"sm": sm, "nvcc": nvcc})).root.id == "unknown"


def test_a_library_that_is_not_cudas_is_no_toolchain_fault() -> None:
    root = engine.explain(["ImportError: libnuma.so.1: cannot open shared object file: No such file"]).root
    assert (root.id, root.toolchain) == ("shared-library-missing", False)


KILLED = "llm.service: Main process exited, code=killed, status=9/KILL\nllm.service: Failed with result 'signal'."


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("", "oom-killed"),
        ("TypeError: x\nReceived sigquit from a child process. It usually means the child failed.\n", "unknown"),
        ("State 'stop-sigterm' timed out. Killing.\nKilling process 8 (python3) with signal SIGKILL.\n", "unknown"),
        # whoever is ended by the kernel can't send a signal: its parent noticed
        ("Subprocess scheduler_0 crashed with exit code -9\nReceived sigquit from a child process.\n", "oom-killed"),
    ],
)
def test_a_kill_by_the_program_itself_or_by_systemd_is_no_lack_of_memory(before: str, expected: str) -> None:
    assert engine.explain((before + KILLED).splitlines()).root.id == expected


def test_torch_s_warning_of_nvml_is_no_cause_of_another_failure() -> None:
    warned = "cuda/__init__.py:953: UserWarning: Can't initialize NVML"
    assert engine.explain([warned]).root.id == "gpu-missing"
    assert engine.explain([warned, "TypeError: 'NoneType' object is not subscriptable"]).root.id == "unknown"


@pytest.mark.parametrize(
    ("said", "alone"),
    [
        ("/bin/sh: 1: nvcc: not found", "nvcc-not-found"),
        ("Command 'nvcc' not found, but can be installed with:", "nvcc-not-found"),
        ("sudo: nvcc: command not found", "nvcc-not-found"),
        ("entrypoint.sh: line 4: nvcc: command not found", "nvcc-not-found"),
        ("/opt/llm/start.sh: 12: ninja: not found", "ninja-missing"),
        ("run.sh: ligne 3: gcc : commande introuvable", "host-compiler-missing"),
        ("make: gcc: No such file or directory", "host-compiler-missing"),
    ],
)
def test_a_shell_s_word_in_passing_is_no_cause_of_what_is_known_to_have_ended_it(said: str, alone: str) -> None:
    assert engine.explain([said]).root.id == alone
    assert engine.explain([said, "OSError: [Errno 98] Address already in use"]).root.id == "port-in-use"
    failed = [said, "ninja: build stopped: subcommand failed.", "OSError: [Errno 98] Address already in use"]
    assert engine.explain(failed).root.id == alone


def test_a_shell_s_word_is_no_cause_of_what_the_program_says_of_its_input() -> None:
    said = "/bin/sh: 1: nvcc: not found"
    assert engine.explain([said, "ValueError: the derived max_model_len is 32768"]).root.id == "unknown"
    # what becomes of an answer that was expected of nvcc
    assert engine.explain([said, "IndexError: list index out of range"]).root.id == "nvcc-not-found"


@pytest.mark.parametrize(
    "said",
    [
        'Failed to pull image "registry.local/vllm:1": unexpected status: 401 Unauthorized',
        "pinging container registry: Error initializing source docker://nvcr.io/model:1: 403 Forbidden",
    ],
)
def test_a_registry_of_images_is_no_hub_of_models(said: str) -> None:
    assert engine.explain([said]).root.id == "unknown"


def test_an_error_within_cuda_s_own_header_needs_releases_that_differ() -> None:
    said = ['/usr/local/cuda/include/cuda_fp16.hpp(112): error: identifier "__NV_NOINLINE" is undefined']
    differ = facts_file.from_mapping({"nvcc": "13.0", "cuda_headers": "12.6"})
    same = facts_file.from_mapping({"nvcc": "12.6", "cuda_headers": "12.6"})
    assert engine.explain(said, differ).root.id == "toolkit-mixed"
    assert engine.explain(said, same).root.id == "unknown"


def test_a_program_of_a_package_is_no_cache_though_its_path_speaks_of_compiling() -> None:
    root = engine.explain(
        ["PermissionError: [Errno 13] Permission denied: '/v/site-packages/triton/backends/nvidia/bin/ptxas'"]
    ).root
    assert not root.toolchain
    root = engine.explain(
        ["PermissionError: [Errno 13] Permission denied: '/v/site-packages/flashinfer_cubin/cubins'"]
    ).root
    assert root.id == "jit-cache-unwritable"


@pytest.mark.parametrize(
    ("sm", "said", "cause"),
    [
        ("7.5", "Feature '.bf16' requires .target sm_80 or higher", "unknown"),
        ("8.6", "Feature '.bf16' requires .target sm_80 or higher", "arch-list-wrong"),
        ("7.5", "Instruction 'cvt with .bf16' not supported on .target 'sm_75'", "unknown"),
        ("8.6", "Instruction 'cvt with .bf16' not supported on .target 'sm_75'", "arch-list-wrong"),
        ("12.0", "Instruction 'cvt with .e2m1x2' not supported on .target 'sm_120'", "arch-list-wrong"),
    ],
)
def test_what_a_gpu_has_not_is_no_matter_of_a_list(sm: str, said: str, cause: str) -> None:
    log = [f"ptxas /tmp/x.ptx, line 1; error   : {said}", "ptxas fatal   : Ptx assembly aborted due to errors"]
    assert engine.explain(log, facts_file.from_mapping({"sm": sm})).root.id == cause


@pytest.mark.parametrize(("nvcc", "cause"), [("11.7", "nvcc-too-old"), ("12.9", "unknown"), (None, "unknown")])
def test_a_name_that_is_not_there_tells_of_an_nvcc_that_is_older_than_it(nvcc: str | None, cause: str) -> None:
    log = ['a.cuh(120): error: identifier "cudaGridDependencySynchronize" is undefined']
    assert engine.explain(log, facts_file.from_mapping({"nvcc": nvcc} if nvcc else {})).root.id == cause


def test_a_probe_that_gave_up_on_what_had_failed_is_no_lack_of_time() -> None:
    probe = "Normal Killing 3s kubelet Container vllm failed startup probe, will be restarted"
    assert engine.explain([probe]).root.id == "start-timeout"
    assert engine.explain(["TypeError: 'NoneType' object is not callable", probe]).root.id == "unknown"


@pytest.mark.parametrize(
    "log",
    [
        'x.cu(31): error: expected a ";"\n1 error detected in the compilation of "x.cu".\nninja: build stopped: x.',
        "FAILED: x.cuda.o\n/usr/local/cuda/bin/nvcc -c x.cu -o x.cuda.o\nninja: build stopped: subcommand failed.",
        "ninja: build stopped: interrupted by user.",
    ],
)
def test_a_compiler_that_ran_was_not_missed_for_a_misspelt_root(log: str) -> None:
    facts = facts_file.from_mapping({"env": {"CUDA_HOME": "/usr/local/cuda/bin"}})
    assert engine.explain(log.splitlines(), facts).root.id == "unknown"


def test_an_interrupted_build_is_one_that_was_going_well() -> None:
    log = [
        "[31/97] /usr/local/cuda/bin/nvcc -c a.cu -o a.cuda.o",
        "vllm.service: start operation timed out. Terminating.",
        "ninja: build stopped: interrupted by user.",
    ]
    assert engine.explain(log).root.id == "jit-cold-start"


def test_words_for_too_few_values_are_of_a_list_that_has_too_few() -> None:
    log = ["ValueError: not enough values to unpack (expected 2, got 1)"]
    right = facts_file.from_mapping({"env": {"FLASHINFER_CUDA_ARCH_LIST": "8.9"}, "sm": "12.0"})
    wrong = facts_file.from_mapping({"env": {"FLASHINFER_CUDA_ARCH_LIST": "9.0  12.0"}, "sm": "12.0"})
    assert engine.explain(log, right).root.id == "unknown"
    assert engine.explain(log, wrong).root.id == "arch-list-wrong"


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (
            {"linked_cudart": "libcudart.so.13", "torch_cuda": "12.9"},
            "CUDA error code=35 (cudaErrorInsufficientDriver)",
        ),
        ({"cuda_home": "/opt/cuda/bin"}, "a.cu:1: fatal error: curand.h: No such file or directory"),
        (
            {"sm": "8.0", "nvcc": "13.0", "env": {"FLASHINFER_CUDA_ARCH_LIST": "7.0"}},
            "FlashInfer requires GPUs with sm75",
        ),
    ],
)
def test_what_was_only_warned_of_is_no_verdict_however_well_facts_fit_it(facts: dict[str, object], said: str) -> None:
    warned, known = f"WARNING 01-01 00:00:00 [x.py:1] {said}", facts_file.from_mapping(facts)
    assert engine.explain([warned], known).root.toolchain
    assert engine.explain([warned, "OSError: [Errno 98] Address already in use"], known).root.id == "port-in-use"
    assert engine.explain([warned, "TypeError: 'NoneType' object is not callable"], known).root.id == "unknown"


FLOOR = "Failed to get device capability: SM 12.x requires CUDA >= 12.9"


@pytest.mark.parametrize(
    ("log", "facts", "cause"),
    [
        (f"ERROR 06-05 20:05:59 [core.py:1108] {FLOOR}", {"nvcc": "12.8"}, "nvcc-too-old"),
        (f"{FLOOR}\nRuntimeError: Engine core initialization failed.", {"nvcc": "12.8", "sm": "12.0"}, "nvcc-too-old"),
        # nothing but the words, and words that tell of something else
        (f"{FLOOR}\nRuntimeError: Engine core initialization failed.", {}, "unknown"),
        (f"{FLOOR}\nKeyError: 'x'", {"nvcc": "12.8", "sm": "12.0"}, "unknown"),
    ],
)
def test_a_warning_is_the_verdict_where_facts_confirm_it_and_the_end_says_nothing(
    log: str, facts: dict[str, object], cause: str
) -> None:
    assert engine.explain(log.splitlines(), facts_file.from_mapping(facts)).root.id == cause


NO_NVCC = "RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist"
CAME_UP = "INFO:     Application startup complete."
TAKEN = "OSError: [Errno 98] Address already in use"


def test_what_failed_before_the_server_came_up_is_not_what_it_ends_of() -> None:
    assert engine.explain([NO_NVCC, CAME_UP, TAKEN]).root.id == "port-in-use"
    assert engine.explain([CAME_UP, NO_NVCC, TAKEN]).root.id == "nvcc-not-found"
    assert engine.explain([NO_NVCC, TAKEN]).root.id == "nvcc-not-found"


IMPORTED = [
    "WARNING 11-24 10:00:02 [import_utils.py:418] Module deep_gemm was found but failed to import",
    "Traceback (most recent call last):",
    '  File "/opt/vllm/lib/python3.12/site-packages/deep_gemm/__init__.py", line 101, in _find_cuda_home',
    "    assert cuda_home is not None",
    "AssertionError",
]


def test_the_traceback_of_a_module_that_a_server_does_without_is_part_of_the_warning() -> None:
    ended = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    assert engine.explain([*IMPORTED, ended]).root.id == "gpu-out-of-memory"
    assert engine.explain([*IMPORTED, "KeyError: 'layers.0.mlp.experts.w13_input_scale'"]).root.id == "unknown"
    # the same failure further down is one that got out
    assert engine.explain([*IMPORTED, ended, *IMPORTED[1:], NO_NVCC]).root.id == "nvcc-not-found"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Building JIT module sampling; this can take several minutes on first use.", "jit-cold-start"),
        ("WARNING: DeepGEMM kernels are disabled: DeepGEMM JIT-compiles its kernels with nvcc", "start-timeout"),
    ],
)
def test_a_build_that_does_not_take_place_keeps_no_start_waiting(said: str, expected: str) -> None:
    gave_up = "systemd[1]: vllm.service: start operation timed out. Terminating."
    assert engine.explain([said, gave_up]).root.id == expected


def test_systemd_s_watchdog_waits_for_a_service_that_has_come_up() -> None:
    compiled = "WARNING [jit_monitor.py:103] Triton kernel JIT compilation during inference: _zero_kv_blocks_kernel."
    fired = "systemd[1]: vllm.service: Watchdog timeout (limit 1min)!"
    ended = "systemd[1]: vllm.service: Failed with result 'watchdog'."
    assert engine.explain([compiled, fired, ended]).root.id == "unknown"


def test_a_package_that_is_ignored_is_no_cause_of_what_no_compiler_says() -> None:
    ignored = "Ignoring incompatible flashinfer-jit-cache package (kernels will be JIT-compiled instead): flashinfer-"
    ignored += "jit-cache version (0.6.9+cu129) does not match flashinfer version (0.7.4)."
    imported = (
        "Ignore import error when loading sglang.srt.models.x: libcudart.so.12: version `libcudart.so.12' not found"
    )
    for said in ignored, imported:
        assert engine.explain([said]).root.id == "library-version-mismatch"
        assert engine.explain([said, "ValueError: SSL key file not found: '/etc/llm/key.pem'."]).root.id == "unknown"


def test_torch_finds_no_driver_before_its_module_is_loaded() -> None:
    asked = "RuntimeError: Found no NVIDIA driver on your system."
    loaded = "kernel: nvidia: loading out-of-tree module taints kernel."
    assert engine.explain([asked]).root.id == "libcuda-missing"
    assert engine.explain([asked, loaded]).root.id == "gpu-not-ready"
    assert engine.explain([loaded, asked]).root.id == "libcuda-missing"


FIRST = "RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist"
THEN = "[Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use"


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("root@gpu:~# systemctl restart sglang", "nvcc-not-found"),
        ("root@gpu:~# apt-get install -y cuda-nvcc-12-9 && systemctl restart sglang", "port-in-use"),
        (
            "[root@gpu ~]# ln -sfn /usr/local/cuda-12.9 /usr/local/cuda\nsystemd[1]: Started sglang.service.",
            "port-in-use",
        ),
        # nothing was started since, so what follows is of no start
        ("root@gpu:~# apt-get install -y cuda-nvcc-12-9", "nvcc-not-found"),
        # a comment is no prompt
        ("# pip install vllm\n# vllm serve x", "nvcc-not-found"),
    ],
)
def test_a_failure_that_somebody_has_acted_on_is_not_that_of_now(between: str, expected: str) -> None:
    assert engine.explain([FIRST, *between.splitlines(), THEN]).root.id == expected


def test_a_change_that_mended_nothing_leaves_the_first_failure() -> None:
    again = ["root@gpu:~# pip install -U sglang && systemctl restart sglang", FIRST]
    assert engine.explain([FIRST, *again]).root.id == "nvcc-not-found"


def test_a_silence_of_seconds_is_no_wait_for_a_lock() -> None:
    for silent, expected in ((8, "unknown"), (1200, "jit-cache-locked")):
        facts = facts_file.from_mapping({"flashinfer": "0.2.3", "silent_s": silent})
        assert engine.explain(["Loading JIT ops: norm"], facts).root.id == expected


@pytest.mark.parametrize(("nvcc", "expected"), [("13.0", "nvcc-too-new"), ("12.8", "cuda-library-not-linkable")])
def test_a_module_of_a_runtime_past_the_driver_is_its_compilers_or_its_linkers(nvcc: str, expected: str) -> None:
    facts = {"torch_cuda": "12.8", "driver": "570.172.08", "linked_cudart": "libcudart.so.13", "nvcc": nvcc}
    log = ["sampling failed with error code CUDA driver version is insufficient for CUDA runtime version"]
    assert engine.explain(log, facts_file.from_mapping(facts)).root.id == expected


def test_a_server_that_answered_and_then_lost_its_runner_is_not_well() -> None:
    answered = '[GIN] 2026/12/02 - 04:10:40 | 200 |  1.2s |  127.0.0.1 | POST     "/api/chat"'
    lost = (
        'level=ERROR source=sched.go:455 msg="error loading llama server" error="llama-server process has terminated"'
    )
    assert engine.explain([answered]).root.id == "healthy"
    assert engine.explain([answered, lost]).root.id == "unknown"
