"""Logs and facts to a root cause: the regression reports, and the rules of ranking."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from remedy.causes import catalogue, engine, facts_file
from remedy.causes.types import Diagnosis, PartialFacts

REPORTS = [json.loads(line) for line in (Path(__file__).parent / "reports.jsonl").read_text().splitlines()]


def explain(log: str, **facts: Any) -> Diagnosis:
    return engine.explain(log.splitlines(), facts_file.from_mapping(facts))


REFUSED = "nvcc fatal   : Unsupported gpu architecture 'compute_120f'"


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: f"{report['id']}-{report['cause']}")
def test_reports(report: dict[str, Any]) -> None:
    found = explain(report["log"], **report["facts"])
    accepted = {report["cause"], *report["also"]}
    assert found.root.id in accepted, found
    assert [finding.root for finding in found.findings] == [True] + [False] * (len(found.findings) - 1)
    assert found.root.summary and "||" not in found.root.summary + found.root.advice
    # a word that was left open; a line that is quoted may hold a shell's ${NAME}
    assert not re.search(r"(?<!\$)\{\w+\}", found.root.summary + found.root.advice)


@pytest.mark.parametrize(
    ("line", "summary"),
    [
        (
            "FileNotFoundError: [Errno 2] No such file or directory: '/models/k2/config.json'",
            "The model /models/k2/config.json is not found.",
        ),
        (
            "OSError: None is not a local folder and is not a valid model identifier listed on 'https://x'",
            "The model's path or name is not found.",
        ),
        (
            "nvrtc: error: failed to open libnvrtc-builtins.so.12.4.",
            "libnvrtc-builtins.so.12.4 is not found by the service's dynamic loader.",
        ),
        (
            "ImportError: This modeling file requires the following packages that were not found in your environment: "
            "tiktoken. Run `pip install tiktoken`",
            "The module tiktoken is not installed in the service's Python.",
        ),
    ],
)
def test_names_are_told_as_they_are(line: str, summary: str) -> None:
    assert explain(line).root.summary == summary


def test_a_line_of_the_unit_is_no_name_of_it() -> None:
    assert "-u UNIT " in explain("x", unit="Environment=CUDA_HOME=$HOME/cuda").root.advice


def test_every_cause_has_a_report() -> None:
    assert {report["cause"] for report in REPORTS} == {cause.id for cause in catalogue.causes()}


def test_a_build_is_never_blamed_without_a_second_piece_of_evidence() -> None:
    for line in (
        "ninja: build stopped: subcommand failed.",
        "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.",
        "RuntimeError: Engine core initialization failed. See root cause above.",
        "RuntimeError: FlashInfer requires GPUs with sm75 or higher",
        "RuntimeError: Ninja build failed. Ninja output:",
    ):
        assert explain(line).root.id == "unknown", line


def test_facts_and_log_together_are_confirmed() -> None:
    root = explain("RuntimeError: FlashInfer requires GPUs with sm75 or higher", sm="12.0", nvcc="12.8").root
    assert (root.id, root.certainty, root.libraries) == ("nvcc-too-old", "confirmed", ("flashinfer",))
    assert {evidence.kind for evidence in root.evidence} == {"log", "fact"}
    assert root.evidence[0].source == "log:1"


def test_a_warning_weighs_less_than_a_failure() -> None:
    found = explain(
        "WARNING 01-01 00:00:00 [x.py:1] nvcc fatal   : Unsupported gpu architecture 'compute_120f'\n"
        "ERROR 01-01 00:00:09 [x.py:1] torch.OutOfMemoryError: CUDA out of memory."
    )
    assert [finding.id for finding in found.findings] == ["gpu-out-of-memory", "nvcc-too-old"]


def test_root_before_symptom() -> None:
    found = explain(
        "OSError: [Errno 28] No space left on device: '/root/.cache/flashinfer'\n"
        "x.cu:1:10: fatal error: curand.h: No such file or directory\nninja: build stopped: subcommand failed."
    )
    assert [finding.id for finding in found.findings] == ["disk-full", "cuda-headers-missing"]


@pytest.mark.parametrize(
    ("log", "facts", "cause"),
    [
        ("nvcc fatal : Unsupported gpu architecture 'compute_120a'", {"sm": "12.0"}, "nvcc-too-old"),
        ("nvcc fatal : Unsupported gpu architecture 'compute_70'", {"sm": "7.0"}, "nvcc-too-new"),
        ("nvcc fatal : Unsupported gpu architecture 'compute_70'", {"sm": "9.0"}, "arch-list-wrong"),
        ("x.so: undefined symbol: cuTensorMapEncodeTiled", {}, "driver-too-old"),
        ("x.so: undefined symbol: _ZN3c105ErrorC2E", {}, "library-version-mismatch"),
        ("/bin/sh: 1: /opt/cuda/bin/nvcc: not found", {}, "nvcc-not-found"),
        ("/bin/sh: 1: /opt/cuda:/bin/nvcc: not found", {}, "cuda-home-invalid"),
        ("libcuda.so.1: cannot open shared object file", {}, "libcuda-missing"),
        ("libcudart.so.12: cannot open shared object file", {}, "shared-library-missing"),
        ("kernel: Out of memory: Killed process 7 (cicc)", {}, "jit-build-out-of-memory"),
        ("kernel: Out of memory: Killed process 7 (python3)", {}, "oom-killed"),
    ],
)
def test_the_same_words_with_opposite_mends(log: str, facts: dict[str, Any], cause: str) -> None:
    assert explain(log, **facts).root.id == cause


@pytest.mark.parametrize(
    "language", ["No such file or directory", "没有那个文件或目录", "Datei oder Verzeichnis nicht gefunden"]
)
def test_headers_are_recognised_in_any_language(language: str) -> None:
    assert explain(f"a.cu:1:10: fatal error: cublas_v2.h: {language}").root.id == "cuda-headers-missing"


def test_unknown_shows_the_earliest_error() -> None:
    root = explain("INFO ok\nValueError: odd thing\nRuntimeError: later").root
    assert root.id == "unknown" and "ValueError: odd thing" in root.summary


TRACED = """[2026-05-02 10:11:03 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/srv/scheduler.py", line 7, in run
    self.handle_error(x)
{cause}
"""


@pytest.mark.parametrize(
    ("log", "shown"),
    [
        (TRACED.format(cause="OddFault: 7 shards are missing"), None),
        (TRACED.format(cause="KeyError: 'layers.0'"), "KeyError: 'layers.0'"),
        ("Received sigquit from a child process. It failed\n" + TRACED.format(cause="TypeError: x"), "TypeError: x"),
        ("Scheduler hit an exception: RuntimeError: odd", "Scheduler hit an exception: RuntimeError: odd"),
        ("ERROR 03-05 09:56:09 [core.py:95] EngineCore failed to start.\nValueError: y", "ValueError: y"),
        ("EngineCore failed to start.", "EngineCore failed to start."),
    ],
)
def test_unknown_shows_the_exception_not_its_announcement(log: str, shown: str | None) -> None:
    root = explain(log).root
    assert root.id == "unknown"
    assert root.summary.endswith(f": {shown}") if shown else "Traceback" not in root.summary


def test_ready_after_trouble_is_healthy_with_what_waits() -> None:
    found = explain("RuntimeError: Could not find nvcc\nINFO:     Application startup complete.")
    assert [(finding.id, finding.certainty) for finding in found.findings][:2] == [
        ("healthy", "likely"),
        ("nvcc-not-found", "possible"),
    ]


def test_trouble_after_ready_is_trouble() -> None:
    log = "INFO:     Application startup complete.\nERROR:    [Errno 98] address already in use"
    assert explain(log).root.id == "port-in-use"


@pytest.mark.parametrize(
    "end",
    [
        'Traceback (most recent call last):\n  File "/srv/app/step.py", line 5, in step\nValueError: not what we asked',
        "[2026-05-02 10:14:09] Initialization failed. warmup error: Traceback (most recent call last):\n  assert ok",
        "[05-02 10:14:09] Server warmup failed; aborting startup: HTTP server did not become ready at http://h/health",
    ],
)
def test_what_fails_after_ready_is_not_well(end: str) -> None:
    ready = "INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)\n"
    assert explain(ready + end).root.id == "unknown"


def test_nothing_at_all() -> None:
    assert engine.explain([]).root.id == "unknown"
    assert engine.explain_blocks([], PartialFacts()).root.id == "unknown"


def test_blocks_and_lines_agree() -> None:
    for report in REPORTS[::7]:
        facts = facts_file.from_mapping(report["facts"])
        whole = engine.explain_blocks([report["log"].encode()], facts)
        assert whole.root.id == engine.explain(report["log"].splitlines(), facts).root.id


def test_secrets_in_the_environment_are_not_repeated() -> None:
    found = explain("ninja: build stopped", env={"DB_PASSWORD": "a$HOME", "CUDA_HOME": "$HOME/cuda"}, unit="x.service")
    assert "a$HOME" not in repr(found)


def test_a_warning_is_no_verdict_on_a_service_that_died_of_something_else() -> None:
    """vLLM logs whole failed builds as warnings and goes on without them."""
    found = explain(
        "(Worker pid=7) WARNING 06-10 17:34:34 [a.py:74] nvcc fatal   : Unsupported gpu architecture 'compute_120f'\n"
        "(EngineCore pid=3) ERROR 06-10 17:36:00 [core.py:700] ValueError: something quite different"
    )
    assert [(finding.id, finding.root) for finding in found.findings] == [("unknown", True), ("nvcc-too-old", False)]


#: Each is said by a program that goes on.
SURVIVED = {
    "a level and a blank": "WARNING CUDA_HOME environment variable is not set",
    "brackets": "[WARN] CUDA_HOME environment variable is not set",
    "a place": "[2026-05-02 10:00:00,123] [WARNING] [accelerator.py:162:get] CUDA_HOME environment variable is not set",
    "warnings.warn": "/v/torch/utils/cpp_extension.py:28: UserWarning: CUDA_HOME environment variable is not set",
    "JSON": '{"level": "warning", "message": "CUDA_HOME environment variable is not set"}',
    "another way": "nvcc not found in PATH, using the bundled compiler",
    "no level at all": "Failed to get device capability: SM 12.x requires CUDA >= 12.9.",
}
#: What the start really ended with.
ENDS = {
    "an exception": "Traceback (most recent call last):\n  File \"/v/vllm/x.py\", line 3, in f\nKeyError: 'rope'",
    "exceptions in a group": "  + Exception Group Traceback (most recent call last):\n  | ExceptionGroup: unhandled"
    ' errors (1 sub-exception)\n  +-+------ 1 ------\n    |   File "/v/vllm/x.py", line 3, in f\n    |    cfg["rope"]\n'
    "    |     ~~~^^^^^^^^\n    | KeyError: 'rope'\n    +-------",
    "a level": "ERROR 06-10 17:36:00 [core.py:700] exllamav2_kernels not installed.",
    "a signal": "Loading weights: 40%\nKilled",
    "another process": "Worker VllmWorkerProcess pid 7 died, exit code: -15",
    "Go": "panic: runtime error: index out of range [3] with length 3",
}


@pytest.mark.parametrize("warning", SURVIVED)
@pytest.mark.parametrize("end", ENDS)
def test_what_was_warned_of_comes_behind_what_ended_the_start(warning: str, end: str) -> None:
    facts = {"sm": "12.0", "nvcc": "12.4", "torch_cuda": "13.0"}
    for known in ({}, facts):
        root, *others = explain(f"{SURVIVED[warning]}\n{ENDS[end]}", **known).findings
        assert not root.toolchain, root
        assert not any(other.root for other in others)


@pytest.mark.parametrize("cause", ["nvcc-too-old", "cuda-home-invalid", "ninja-missing"])
def test_a_start_that_the_preflight_stopped_has_the_cause_that_it_named(cause: str) -> None:
    said = f"a.service: these words say nothing ({cause}); remedy diagnose a.service"
    stopped = "a.service: Control process exited, code=exited, status=1/FAILURE\n"
    failed = "a.service: Failed with result 'exit-code'."
    assert explain(f"{said}\n{stopped}{failed}").root.id == cause
    # Where the start went on all the same, it failed of what came after.
    assert explain(f"{said}\ntorch.OutOfMemoryError: CUDA out of memory.\n{failed}").root.id == "gpu-out-of-memory"


def test_a_warning_comes_behind_what_the_log_stands_at() -> None:
    last = "INFO 05-02 10:11:03 [pynccl.py:70] vLLM is using nccl==2.27.3"
    found = explain(f"WARNING CUDA_HOME environment variable is not set\n{last}")
    assert [finding.id for finding in found.findings] == ["nccl-failure", "nvcc-not-found"]


def test_a_warning_is_the_verdict_where_nothing_else_is_said() -> None:
    line = "(Worker pid=7) WARNING 06-10 17:34:34 [a.py:74] nvcc fatal   : Unsupported gpu architecture 'compute_120f'"
    assert explain(line).root.id == "nvcc-too-old"


def test_every_text_can_be_rewritten_before_it_is_shown() -> None:
    line = "Ignoring invalid environment assignment 'export HF_TOKEN=hf_abcdefghijklmnop': /etc/default/vllm"
    found = explain(line).rewritten(lambda text: text.replace("hf_abcdefghijklmnop", "…"))
    assert found.root.id == "unit-environment" and "hf_abcdefghijklmnop" not in repr(found)


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        ({"gpu": "RTX 5090", "nvcc": "12.8", "torch_cuda": "13.0", "flashinfer": "0.6.8"}, "nvcc-too-old"),
        ({"gpu": "RTX 5090", "nvcc": "12.4"}, "nvcc-too-old"),
        ({"sm": "7.0", "nvcc": "13.0"}, "nvcc-too-new"),
        ({"nvcc": "11.8", "torch_cuda": "12.1"}, "nvcc-torch-mismatch"),
        ({"nvcc": "13.3", "cuda_headers": "13.0"}, "toolkit-mixed"),
        ({"nvcc": "11.8", "gcc": "13.2"}, "host-compiler-unsupported"),
        ({"driver": "470.82", "torch_cuda": "12.8"}, "driver-too-old"),
        ({"kernel_module": "550.90.07", "driver_packages": "550.107.02"}, "driver-mismatch"),
        ({"os": "Ubuntu 25.04 (glibc 2.41)", "nvcc": "12.9"}, "glibc-too-new"),
        ({"sm": "9.0", "env": {"FLASHINFER_CUDA_ARCH_LIST": "8.0, 9.0a"}}, "arch-list-wrong"),
        ({"env": {"CUDA_HOME": "/dev/null"}}, "cuda-home-invalid"),
        ({"os": "Ubuntu 25.04 (glibc 2.41)"}, "unknown"),
        ({"gpu": "H100", "nvcc": "12.8", "torch_cuda": "12.8", "driver": "570.86.10"}, "unknown"),
    ],
)
def test_facts_without_a_log_say_what_they_show(facts: dict[str, Any], cause: str) -> None:
    assert explain("", **facts).root.id == cause
    assert explain("RuntimeError: quite another matter", **facts).root.id == "unknown"


@pytest.mark.parametrize(
    "prefix",
    [
        "vllm-1  | ",
        "3月 05 09:56:09 host vllm[7]: ",
        "2026-03-05T09:56:09.1Z stderr F ",
        "[pod/vllm-0/vllm] ",
        "[rank3]: ",
    ],
)
def test_writers_in_front_of_a_line_change_nothing(prefix: str) -> None:
    log = "x.cuh:5:1: fatal error: curand_kernel.h: No such file or directory\r\nninja: build stopped\r\n"
    assert explain("\n".join(prefix + line for line in log.split("\n"))).root.id == "cuda-headers-missing"


@pytest.mark.parametrize(
    ("refused", "instead", "last", "root"),
    [
        (REFUSED, "Falling back to Triton kernels", "KeyError: 'rope'", "unknown"),
        (REFUSED, "WARNING 01-01 10:00:00 [x.py:1] falling back to torch", "CUDA out of memory", "gpu-out-of-memory"),
        ("ptxas does not support CC 12.0", "Relying on driver to perform ptx compilation.", "ValueError: x", "unknown"),
        # no other end, one of compilers, one that tells nothing, and no word of doing without
        (REFUSED, "Falling back to Triton kernels", "", "nvcc-too-old"),
        (REFUSED, "Falling back to Triton kernels", "RuntimeError: Ninja build failed.", "nvcc-too-old"),
        (REFUSED, "Falling back to Triton kernels", "Engine core initialization failed", "nvcc-too-old"),
        (REFUSED, "", "KeyError: 'rope'", "nvcc-too-old"),
        ("Falling back to Triton kernels", REFUSED, "KeyError: 'rope'", "nvcc-too-old"),
    ],
)
def test_what_a_program_did_without_is_not_what_it_ended_of(refused: str, instead: str, last: str, root: str) -> None:
    found = engine.explain([refused, instead, last])
    assert found.root.id == root
    assert root == "nvcc-too-old" or [one.id for one in found.findings if one.toolchain and one.certainty == "possible"]


def test_a_hub_that_gave_no_answer_is_told_from_a_model_that_does_not_exist() -> None:
    unreached = "OSError: We couldn't connect to 'https://huggingface.co' to load the files"
    missing = "OSError: /models/x is not a local folder and is not a valid model identifier"
    alone, both = (engine.explain(lines).root for lines in ([unreached], [unreached, missing]))
    assert alone.id == both.id == "model-not-found"
    assert "gave no answer" in alone.summary and "HTTPS_PROXY" in alone.advice
    assert both.summary == "The model /models/x is not found."
