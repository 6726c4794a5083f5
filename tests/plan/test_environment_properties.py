"""What holds for every environment that a move to another toolkit starts from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remedy.plan.environment import Move, move_to, toolkit_values
from remedy.view import which
from tests.memory import MemoryView
from tests.plan.cases import NEW, OLD

VIEW = MemoryView(
    programs=(
        *("/usr/local/cuda-12.8/bin/nvcc", "/usr/local/cuda-13.0/bin/nvcc", "/usr/bin/nvcc", "/usr/bin/python3"),
        *("/opt/conda/bin/nvcc", "/opt/conda/bin/python3", "/root/venv/bin/ninja"),
    ),
    links={"/usr/local/cuda": "/usr/local/cuda-12.8"},
)
OURS = ("/root/venv/bin", "/usr/bin", "/opt/conda/bin", "/bin", "/opt/x/lib", "relative", "")
CUDA = ("/usr/local/cuda-12.8", "/usr/local/cuda", "/usr/local/cuda-11.4", "/usr/local/cuda-13.0")
FOLDERS = st.sampled_from([*OURS, *(f"{root}/{below}" for root in CUDA for below in ("bin", "lib64", "bin/", ""))])
LISTS = st.lists(FOLDERS, max_size=6).map(":".join)
ENVIRONMENTS = st.fixed_dictionaries(
    {},
    optional={
        "PATH": LISTS,
        "LD_LIBRARY_PATH": LISTS,
        "CPATH": LISTS,
        "CUDA_HOME": st.sampled_from([*CUDA, "", "/dev/null", "/nonexistent", "$HOME/cuda", "/usr/local/cuda-13.0:"]),
        "CUDA_PATH": st.sampled_from(CUDA),
    },
)


def move(env: dict[str, str]) -> Move:
    return move_to(NEW, VIEW, (OLD, NEW), [env.get("CUDA_HOME")])


@given(ENVIRONMENTS)
def test_every_lookup_leads_to_the_chosen_toolkit(env: dict[str, str]) -> None:
    after = {**env, **toolkit_values(env, move(env))}
    assert VIEW.realpath(after["CUDA_HOME"]) == NEW.root
    assert which(VIEW, "nvcc", after["PATH"]) == "/usr/local/cuda-13.0/bin/nvcc"
    assert "CUDA_PATH" not in after or VIEW.realpath(after["CUDA_PATH"]) == NEW.root
    for name in ("LD_LIBRARY_PATH", "CPATH"):
        assert "cuda-12.8" not in after.get(name, "") and "cuda-11.4" not in after.get(name, "")


@given(ENVIRONMENTS)
def test_once_is_enough(env: dict[str, str]) -> None:
    after = {**env, **toolkit_values(env, move(env))}
    assert toolkit_values(after, move(after)) == {}


@given(ENVIRONMENTS)
def test_what_is_no_toolkit_s_stays_in_its_order(env: dict[str, str]) -> None:
    after = {**env, **toolkit_values(env, move(env))}
    for name in ("PATH", "LD_LIBRARY_PATH", "CPATH"):
        if name in env:
            kept = [entry for entry in env[name].split(":") if entry in OURS and entry]
            assert [entry for entry in after[name].split(":") if entry in OURS and entry] == kept
    assert set(after) <= {*env, "CUDA_HOME", "PATH"}
