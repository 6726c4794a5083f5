"""The variables that lead every library to the chosen toolkit."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from remedy.facts.types import Toolkit
from remedy.plan.environment import move_to, moved_list, toolkit_values, with_folder
from tests.memory import MemoryView
from tests.plan.cases import NEW, OLD, kit

BASE = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def view(*extra: str, links: Mapping[str, str] | None = None) -> MemoryView:
    return MemoryView(
        programs=("/usr/local/cuda-12.8/bin/nvcc", "/usr/local/cuda-13.0/bin/nvcc", "/usr/bin/python3", *extra),
        links=links or {},
    )


def changes(
    env: Mapping[str, str], at: MemoryView | None = None, toolkits: tuple[Toolkit, ...] = (OLD, NEW)
) -> dict[str, str]:
    return toolkit_values(env, move_to(NEW, at or view(), toolkits, [env.get("CUDA_HOME")]))


@pytest.mark.parametrize(
    ("env", "wanted"),
    [
        # The story.
        (
            {"PATH": f"/usr/local/cuda-12.8/bin:{BASE}", "LD_LIBRARY_PATH": "/usr/local/cuda-12.8/lib64:/opt/x/lib"},
            {
                "CUDA_HOME": "/usr/local/cuda-13.0",
                "PATH": f"/usr/local/cuda-13.0/bin:{BASE}",
                "LD_LIBRARY_PATH": "/usr/local/cuda-13.0/lib64:/opt/x/lib",
            },
        ),
        # PATH without any nvcc, as systemd's default has it.
        ({"PATH": BASE}, {"CUDA_HOME": "/usr/local/cuda-13.0", "PATH": f"/usr/local/cuda-13.0/bin:{BASE}"}),
        # The venv in front stays in front of everything but the toolkit.
        (
            {"PATH": "/root/venv/bin:/usr/local/cuda-12.8/bin:/usr/bin"},
            {"CUDA_HOME": "/usr/local/cuda-13.0", "PATH": "/usr/local/cuda-13.0/bin:/root/venv/bin:/usr/bin"},
        ),
        # All right already.
        ({"CUDA_HOME": "/usr/local/cuda-13.0", "PATH": f"/usr/local/cuda-13.0/bin:{BASE}"}, {}),
        ({"CUDA_HOME": "/usr/local/cuda-13.0/", "PATH": f"/root/venv/bin:/usr/local/cuda-13.0/bin:{BASE}"}, {}),
        # A variable that systemd took as it stands.
        (
            {"CUDA_HOME": "$CUDA_ROOT", "PATH": "$CUDA_HOME/bin:${CUDA_ROOT}/bin:$HOME/bin:/bin"},
            {"CUDA_HOME": "/usr/local/cuda-13.0", "PATH": "/usr/local/cuda-13.0/bin:$HOME/bin:/bin"},
        ),
        # CUDA_PATH only where it is set.
        (
            {"CUDA_HOME": "/dev/null", "CUDA_PATH": "/usr/local/cuda-12.8", "PATH": "/usr/local/cuda-13.0/bin:/bin"},
            {"CUDA_HOME": "/usr/local/cuda-13.0", "CUDA_PATH": "/usr/local/cuda-13.0"},
        ),
        # Malformed values.
        (
            {"CUDA_HOME": "/usr/local/cuda-13.0:", "PATH": "/usr/local/cuda-13.0/bin"},
            {"CUDA_HOME": "/usr/local/cuda-13.0"},
        ),
        ({"CUDA_HOME": "", "PATH": "/usr/local/cuda-13.0/bin"}, {"CUDA_HOME": "/usr/local/cuda-13.0"}),
        # Variables that name one program of the old toolkit; another program stays.
        (
            {
                "CUDA_HOME": "/usr/local/cuda-13.0",
                "PATH": "/usr/local/cuda-13.0/bin",
                "FLASHINFER_NVCC": "/usr/local/cuda-12.8/bin/nvcc",
                "PYTORCH_NVCC": "/opt/wrapped/nvcc",
            },
            {"FLASHINFER_NVCC": "/usr/local/cuda-13.0/bin/nvcc"},
        ),
        # Folders of a release that is long gone; a compatibility folder belongs to the driver.
        (
            {
                "CUDA_HOME": "/usr/local/cuda-13.0",
                "PATH": "/usr/local/cuda-13.0/bin:/usr/local/cuda-11.7/bin",
                "LD_LIBRARY_PATH": "/usr/local/cuda-11.7/targets/x86_64-linux/lib:/usr/local/cuda-12.8/lib64:"
                "/usr/local/cuda-12.8/compat",
                "CPATH": "/usr/local/cuda-12.8/include",
            },
            {
                "LD_LIBRARY_PATH": "/usr/local/cuda-13.0/lib64:/usr/local/cuda-12.8/compat",
                "CPATH": "/usr/local/cuda-13.0/include",
            },
        ),
    ],
)
def test_what_must_change(env: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    assert changes(env) == wanted


def test_the_result_needs_no_change() -> None:
    env = {"PATH": f"/usr/local/cuda-12.8/bin:{BASE}", "LD_LIBRARY_PATH": "/usr/local/cuda/lib64", "CUDA_PATH": "/x"}
    after = {**env, **changes(env)}
    assert changes(after) == {}


def test_a_link_to_the_chosen_toolkit_keeps_its_spelling() -> None:
    linked = view(links={"/usr/local/cuda": "/usr/local/cuda-13.0"})
    env = {
        "CUDA_HOME": "/usr/local/cuda",
        "PATH": "/usr/local/cuda/bin:/bin",
        "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
    }
    assert changes(env, linked) == {}


def test_a_link_to_another_toolkit_is_not_written_again() -> None:
    linked = view(links={"/usr/local/cuda": "/usr/local/cuda-12.8"})
    found = changes({"CUDA_HOME": "/usr/local/cuda", "PATH": f"/usr/local/cuda/bin:{BASE}"}, linked)
    assert found == {"CUDA_HOME": "/usr/local/cuda-13.0", "PATH": f"/usr/local/cuda-13.0/bin:{BASE}"}


@pytest.mark.parametrize("folder", ["/usr/bin", "/opt/conda/bin"])
def test_folders_with_other_programs_stay_behind(folder: str) -> None:
    at = view(f"{folder}/nvcc", f"{folder}/python3")
    toolkits = (kit(folder.removesuffix("/bin"), (11, 8), origin="unknown"), NEW)
    found = changes({"CUDA_HOME": NEW.root, "PATH": f"{folder}:/bin"}, at, toolkits)
    assert found == {"PATH": f"/usr/local/cuda-13.0/bin:{folder}:/bin"}


@pytest.mark.parametrize(
    ("path", "after"),
    [
        ("/root/venv/bin:/bin", "/root/venv/bin:/bin:/opt/conda/bin"),
        ("/root/venv/bin:/usr/bin:/bin", "/root/venv/bin:/opt/conda/bin:/usr/bin:/bin"),
        ("/usr/local/cuda-12.8/bin:/bin", "/bin:/opt/conda/bin"),
    ],
)
def test_an_environment_s_own_toolkit_decides_for_nvcc_alone(path: str, after: str) -> None:
    at = view("/opt/conda/bin/nvcc", "/opt/conda/bin/python3", "/usr/bin/nvcc")
    conda = kit("/opt/conda", (13, 0), origin="conda")
    found = toolkit_values({"CUDA_HOME": "/opt/conda", "PATH": path}, move_to(conda, at, (OLD, conda), ()))
    assert found == {"PATH": after}


def test_each_folder_once_and_empty_entries_kept() -> None:
    move = move_to(NEW, view(), (OLD, NEW), ())
    value = "/usr/local/cuda-12.8/lib64:/a:/usr/local/cuda-12.8/lib:/a:"
    assert moved_list(value, move) == "/usr/local/cuda-13.0/lib64:/a:/a:"


def test_a_folder_more() -> None:
    assert with_folder("/bin:/usr/bin", "/v/bin") == "/bin:/usr/bin:/v/bin"
    assert with_folder("/v/bin:/bin", "/v/bin") == "/v/bin:/bin"
