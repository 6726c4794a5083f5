"""Which service is led to which toolkit, and through what."""

from __future__ import annotations

from remedy.cli.toolkits import uses_of
from remedy.facts.run import NoRunner
from remedy.road import Machine
from remedy.unit.manager import manager_from
from tests.memory import MemoryView

SITE = "/srv/venv/lib/python3.11/site-packages"
FILES = {
    "/srv/venv/pyvenv.cfg": "home = /usr/bin\nversion = 3.11.2\n",
    f"{SITE}/torch/version.py": "__version__ = '2.11.0+cu130'\ncuda: Optional[str] = '13.0'\n",
}
PROGRAMS = (
    "/srv/venv/bin/python3",
    "/usr/bin/python3.11",
    "/usr/bin/nvcc",
    "/usr/local/cuda-13.0/bin/nvcc",
    "/opt/sdk/bin/nvcc",
    f"{SITE}/nvidia/cu13/bin/nvcc",
)
START = "ExecStart=/srv/venv/bin/python3 -m sglang.launch_server"


def uses(**units: str) -> dict[str, list[tuple[str, str]]]:
    texts = {f"/etc/systemd/system/{name}.service": f"[Service]\n{text}\n" for name, text in units.items()}
    view = MemoryView({**FILES, **texts}, {"/usr/local/cuda": "cuda-13.0"}, PROGRAMS)
    machine = Machine(view, NoRunner("only read"), manager_from(view, 252))
    return {use.toolkit.root: list(use.users) for use in uses_of(machine)}


def test_what_a_service_names_wins() -> None:
    found = uses(
        a=f"{START}\nEnvironment=CUDA_HOME=/usr/local/cuda-13.0/",
        b=f"{START}\nEnvironment=PATH=/opt/sdk/bin:/usr/bin",
    )
    assert found["/usr/local/cuda-13.0"] == [("a.service", "CUDA_HOME")]
    assert found["/opt/sdk"] == [("b.service", "PATH")]
    # It stands on PATH behind the other.
    assert ("b.service", "PATH") not in found["/usr"]


def test_what_is_installed_in_its_environment_is_found_there() -> None:
    found = uses(a=START)
    assert found[f"{SITE}/nvidia/cu13"] == [("a.service", "in its environment")]


def test_without_a_word_it_is_the_folder_that_all_fall_back_to() -> None:
    assert uses(a=f"{START}\nEnvironment=PATH=/bin")["/usr/local/cuda"] == [("a.service", "by default")]


def test_a_program_that_compiles_nothing_uses_none() -> None:
    found = uses(a="ExecStart=/usr/bin/true\nEnvironment=PATH=/usr/bin")
    assert [users for users in found.values() if users] == []
