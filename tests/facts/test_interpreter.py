from __future__ import annotations

import pytest

from remedy.facts.interpreter import parse_torch_version, read_dists, read_interpreter
from tests.memory import MemoryView

TORCH = """\
from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '2.11.0+cu130'
debug = False
cuda: Optional[str] = '13.0'
git_version = '70d99e998b4955e0049d13a98d77ae1b14db1f45'
hip: Optional[str] = None
"""
SITE = "/root/venv/lib/python3.11/site-packages"
VENV = {
    "/root/venv/pyvenv.cfg": "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.2\n",
    f"{SITE}/torch/version.py": TORCH,
    f"{SITE}/torch-2.11.0+cu130.dist-info/METADATA": "",
    f"{SITE}/flashinfer_python-0.6.8.post1.dist-info/METADATA": "",
    f"{SITE}/Apache_TVM.FFI-0.1.11.dist-info/METADATA": "",
    f"{SITE}/sglang-0.5.9.dev12+gabc1234.dist-info/METADATA": "",
    f"{SITE}/old_style-1.0-py3.11.egg-info/PKG-INFO": "",
    f"{SITE}/_distutils_hack/__init__.py": "",
    "/usr/include/python3.11/Python.h": "",
    "/usr/lib/python3/dist-packages/torch-1.0.dist-info/METADATA": "",
}


def test_a_venv() -> None:
    view = MemoryView(VENV, {"/root/venv/bin/python3": "python", "/root/venv/bin/python": "/usr/bin/python3.11"})
    found = read_interpreter(view, "/root/venv/bin/python3", {}, "/root")
    assert (found.prefix, found.version, found.site_packages) == ("/root/venv", (3, 11, 2), (SITE,))
    assert (found.torch, found.torch_cuda, found.torch_hip) == ("2.11.0+cu130", "13.0", None)
    assert found.headers == "/usr/include/python3.11"
    assert {name: dist.version for name, dist in found.dists.items()} == {
        "torch": "2.11.0+cu130",
        "flashinfer-python": "0.6.8.post1",
        "apache-tvm-ffi": "0.1.11",
        "sglang": "0.5.9.dev12+gabc1234",
        "old-style": "1.0",
    }


def test_a_uv_venv_of_a_python_of_its_own() -> None:
    base = "/root/.local/share/uv/python/cpython-3.12.8-linux-x86_64-gnu"
    view = MemoryView(
        {
            "/srv/app/.venv/pyvenv.cfg": f"home = {base}/bin\nimplementation = CPython\nversion_info = 3.12.8\n",
            "/srv/app/.venv/lib/python3.12/site-packages/vllm-0.19.1.dist-info/METADATA": "",
            f"{base}/include/python3.12/Python.h": "",
        }
    )
    found = read_interpreter(view, "/srv/app/.venv/bin/python", {}, "/root")
    assert found.version == (3, 12, 8) and found.headers == f"{base}/include/python3.12"
    assert found.dist_version("vllm") == "0.19.1" and found.torch is None


def test_a_conda_environment() -> None:
    prefix = "/opt/conda/envs/llm"
    view = MemoryView(
        {
            f"{prefix}/lib/python3.12/site-packages/torch/version.py": TORCH,
            f"{prefix}/include/python3.12/Python.h": "",
        },
        {f"{prefix}/bin/python": "python3.12"},
    )
    found = read_interpreter(view, f"{prefix}/bin/python", {}, "/root")
    assert (found.prefix, found.version, found.torch_cuda) == (prefix, (3, 12), "13.0")
    assert found.headers == f"{prefix}/include/python3.12"


def test_debian_s_own_interpreter_with_packages_of_the_user() -> None:
    user = "/var/lib/llm/.local/lib/python3.11/site-packages"
    view = MemoryView(
        {
            f"{user}/torch-2.12.1.dist-info/METADATA": "",
            "/usr/lib/python3/dist-packages/torch-1.13.1.dist-info/METADATA": "",
            "/usr/local/lib/python3.11/dist-packages/vllm-0.19.1.dist-info/METADATA": "",
        },
        {"/usr/bin/python3": "python3.11"},
        programs=("/usr/bin/python3.11",),
    )
    found = read_interpreter(view, "/usr/bin/python3", {}, "/var/lib/llm")
    assert found.site_packages == (
        user,
        "/usr/local/lib/python3.11/dist-packages",
        "/usr/lib/python3/dist-packages",
    )
    assert found.dist_version("torch") == "2.12.1" and found.headers is None
    alone = read_interpreter(view, "/usr/bin/python3", {"PYTHONNOUSERSITE": "1"}, "/var/lib/llm")
    assert alone.dist_version("torch") == "1.13.1"


def test_pythonpath_and_editable_installs() -> None:
    view = MemoryView(
        {
            **VENV,
            f"{SITE}/__editable__.sglang.pth": "/src/sglang/python\n",
            f"{SITE}/hook.pth": "import hook; hook.run()\n# comment\n\n/does/not/exist\n",
            "/src/sglang/python/sglang/__init__.py": "",
            "/extra/torch/version.py": "__version__ = \"2.14.1\"\ncuda = '13.0'\nhip = '6.2'\n",
        }
    )
    found = read_interpreter(view, "/root/venv/bin/python3", {"PYTHONPATH": "/extra:relative:"}, "/root")
    assert found.site_packages == ("/extra", SITE, "/src/sglang/python")
    assert (found.torch, found.torch_hip) == ("2.14.1", "6.2")


def test_an_interpreter_that_is_not_there() -> None:
    found = read_interpreter(MemoryView(), "/gone/bin/python", {}, "/root")
    assert (found.version, found.site_packages, found.torch, found.headers) == (None, (), None, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("__version__ = '2.6.0'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n", {"__version__": "2.6.0"}),
        ("cuda = '12.8'", {"cuda": "12.8"}),
        ("cuda_home = '1'\n", {}),
        ("", {}),
    ],
)
def test_torch_version(text: str, expected: dict[str, str]) -> None:
    assert parse_torch_version(text) == expected


def test_of_two_versions_the_first_on_the_path_counts() -> None:
    view = MemoryView({"/a/torch-2.9.1.dist-info/M": "", "/b/torch-2.8.0.dist-info/M": "", "/b/x-1.dist-info/M": ""})
    assert {name: dist.location for name, dist in read_dists(view, ("/a", "/b")).items()} == {
        "torch": "/a/torch-2.9.1.dist-info",
        "x": "/b/x-1.dist-info",
    }
