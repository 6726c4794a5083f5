"""The plan as people and programs read it."""

from __future__ import annotations

import json

import pytest

from remedy.facts.types import PackageChange
from remedy.plan.types import BuildToolkit, EditFile, InstallPackages, MoveCache, Plan, Rejected, RestartUnit
from remedy.show.plan import plan_json, plan_text
from remedy.unit.types import EditRefused, FileEdit, Place

INSTALL = InstallPackages(
    ("cuda-nvcc-13-0=13.0.88-1",),
    (
        PackageChange("cuda-crt-13-0", "13.0.88-1", None, 130_000, 500_000),
        PackageChange("cuda-nvcc-13-0", "13.0.88-1", None, 37_400_000, 120_000_000, "NVIDIA"),
        PackageChange("libc6", "2.36-10", "2.36-9", 2_800_000, 13_000_000),
    ),
    "/usr/local/cuda-13.0",
    (("cuda", "/usr/local/cuda-12.8"),),
    "CUDA 13.0 is what torch was built for",
)
EDIT = EditFile(
    FileEdit(
        "/etc/systemd/system/a.service",
        b"[Service]\nEnvironment=HF_TOKEN=hf_secret\nEnvironment=A=old\n",
        b"[Service]\nEnvironment=HF_TOKEN=hf_secret\nEnvironment=A=new\n",
        "A is decided here",
    )
)
MOVES = tuple(MoveCache(f"/c/m{number}", 1_000_000, "flashinfer", "it is old") for number in range(15))
PLAN = Plan(
    "a.service",
    "nvcc-too-old",
    (INSTALL, EDIT, *MOVES, RestartUnit("a.service", True, 630.0)),
    "/usr/local/cuda-13.0",
    (13, 0),
    (("A", "new"),),
    (Rejected("/usr/local/cuda-12.8", "CUDA 12.8 is too old"),),
    (EditRefused("B", "the script sets it", Place("/opt/start.sh", 3)),),
    ("/usr/local/cuda stays",),
)


def hide(text: str) -> str:
    return text.replace("hf_secret", "***")


@pytest.mark.parametrize(
    ("libraries", "named"),
    [(("flashinfer",), "kernels of flashinfer are"), (("a", "b", "c"), "kernels of a, b and c are")],
)
def test_the_proof_stands_between_the_toolkit_and_the_service(libraries: tuple[str, ...], named: str) -> None:
    text = plan_text(PLAN, hide, proven=libraries)
    assert text.index("1. Install") < text.index(named) < text.index("2. Edit") and text.count("Proof: ") == 1
    assert all(len(line) <= 80 for line in text.splitlines())


def test_everything_is_in_the_preview() -> None:
    text = plan_text(PLAN, hide)
    for words in (
        "a.service: mend nvcc-too-old with CUDA 13.0 in /usr/local/cuda-13.0",
        "1. Install 3 packages with apt: 40.3 MB to download, 134 MB on disk",
        "cuda-nvcc-13-0 13.0.88-1 37.4 MB",
        "libc6 2.36-10 (now 2.36-9) 2.8 MB",
        "2. Edit /etc/systemd/system/a.service",
        "-Environment=A=old",
        "+Environment=A=new",
        "3. Move 15 stale cache entries aside, 15.0 MB",
        "and 3 more",
        "4. Daemon-reload, then restart a.service; the last good start took 10 min 30 s",
        "/usr/local/cuda-12.8 CUDA 12.8 is too old",
        "B the script sets it (/opt/start.sh:3)",
        "- /usr/local/cuda stays",
    ):
        assert words in " ".join(text.split()), words
    assert "hf_secret" not in text and "\x1b" not in text


def test_a_package_without_an_installed_size_leaves_the_figure_out() -> None:
    step = InstallPackages(("a=1",), (PackageChange("a", "1", None, 1_000, 0),), "/c")
    text = plan_text(Plan("a.service", "nvcc-too-old", (step,)), hide)
    assert "1. Install 1 package with apt: 1.0 kB to download\n" in text and "on disk" not in text


def test_it_fits_eighty_columns() -> None:
    assert all(len(line) <= 80 for line in plan_text(PLAN, hide).splitlines())


def test_json_is_plain_and_whole() -> None:
    value = json.loads(json.dumps(plan_json(PLAN, hide)))
    assert [step["kind"] for step in value["steps"]] == [
        "install-packages",
        "edit-file",
        *["move-cache"] * 15,
        "restart-unit",
    ]
    assert value["schema"] == 1 and value["toolkit_version"] == "13.0" and value["wanted"] == {"A": "new"}
    assert value["steps"][0]["download"] == 40_330_000
    assert value["steps"][0]["held"] == {"cuda": "/usr/local/cuda-12.8"}
    assert "hf_secret" not in json.dumps(value)
    assert value["refused"] == [{"name": "B", "why": "the script sets it", "source": "/opt/start.sh:3"}]


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan("a.service", "healthy"), "a.service: nothing to do."),
        (Plan("a.service", "disk-full", impossible="free space on /"), "remedy can't mend this: free space on /"),
        (
            Plan("a.service", "x", (BuildToolkit(("nvidia-cuda-nvcc==13.0.88",), "/var/lib/t"),)),
            "Lay out PyPI's wheels as a toolkit in /var/lib/t",
        ),
        (
            Plan("a.service", "x", (EditFile(FileEdit("/etc/x.conf", None, b"a\n", "")),)),
            "1. Create /etc/x.conf",
        ),
        (Plan("a.service", "x", (RestartUnit("a.service", False),)), "1. Restart a.service. It is watched"),
        (Plan("a.service", "x", (MoveCache("/c/a", 0, "triton", "gone"),)), "Move 1 stale cache entry aside"),
    ],
)
def test_other_plans(plan: Plan, words: str) -> None:
    assert words in " ".join(plan_text(plan, hide).split())
